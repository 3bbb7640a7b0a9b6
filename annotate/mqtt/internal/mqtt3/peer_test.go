package mqtt3_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// peer is a broker that answers as a test tells it to.
type peer struct {
	mqtttest.Address
	// connack is the return code of the n-th connection; nil means success.
	connack func(n int) byte
	// answer is what goes back for any other packet.
	answer func(conn net.Conn, p packets.ControlPacket)

	mu       sync.Mutex
	connects []*packets.ConnectPacket
}

func (p *peer) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.Address = mqtttest.Address{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		work.Wait()
	})
}

// pipe creates a connection to the peer in memory, without start. In a bubble
// nothing happens on it but by the bubble's clock.
func (p *peer) pipe(context.Context, string, string) (net.Conn, error) {
	client, broker := net.Pipe()
	go p.serve(broker)
	return client, nil
}

// nowhere are settings for a dialer that does not look at the address.
func nowhere(topic string) annotate.Topic {
	return mqtttest.Address{Host: "127.0.0.1", Port: 1}.Topic(topic, "c")
}

// impatient is the broker's end of a pipe. Writes wait in a buffer, as in that of a network. A
// read fails if the client sends nothing for a time, as brokers give up a client without a
// PINGREQ (MQTT 3.1.1 section 3.1.2.10).
type impatient struct {
	net.Conn
	limit   time.Duration
	waiting chan []byte
	closing chan struct{}
}

func newImpatient(conn net.Conn, limit time.Duration) *impatient {
	c := &impatient{Conn: conn, limit: limit, waiting: make(chan []byte, 1000), closing: make(chan struct{})}
	go func() {
		for {
			select {
			case p := <-c.waiting:
				_, _ = c.Conn.Write(p)
			case <-c.closing:
				return
			}
		}
	}()
	return c
}

func (c *impatient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *impatient) Write(p []byte) (int, error) {
	c.waiting <- bytes.Clone(p)
	return len(p), nil
}

func (c *impatient) Close() error {
	close(c.closing)
	return c.Conn.Close()
}

func (p *peer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		switch content := packet.(type) {
		case *packets.ConnectPacket:
			p.mu.Lock()
			n := len(p.connects)
			p.connects = append(p.connects, content)
			p.mu.Unlock()
			ack := packets.NewControlPacket(packets.Connack).(*packets.ConnackPacket)
			if p.connack != nil {
				ack.ReturnCode = p.connack(n)
			}
			if ack.Write(conn) != nil || ack.ReturnCode != 0 {
				return
			}
		case *packets.DisconnectPacket:
			return
		case *packets.PingreqPacket:
			_ = packets.NewControlPacket(packets.Pingresp).Write(conn)
		default:
			if p.answer != nil {
				p.answer(conn, packet)
			}
		}
	}
}

// connect returns the n-th CONNECT packet; nil when there was none.
func (p *peer) connect(n int) *packets.ConnectPacket {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n >= len(p.connects) {
		return nil
	}
	return p.connects[n]
}

// grant is an answer that confirms subscriptions.
func grant(conn net.Conn, packet packets.ControlPacket, codes ...byte) bool {
	s, ok := packet.(*packets.SubscribePacket)
	if ok {
		ack := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
		ack.MessageID, ack.ReturnCodes = s.MessageID, codes
		_ = ack.Write(conn)
	}
	return ok
}

// confirm answers a PUBLISH.
func confirm(conn net.Conn, m *packets.PublishPacket) {
	ack := packets.NewControlPacket(packets.Puback).(*packets.PubackPacket)
	ack.MessageID = m.MessageID
	_ = ack.Write(conn)
}

// message is a PUBLISH packet with a number as its payload.
func message(id uint16, qos byte, n int) *packets.PublishPacket {
	m := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	m.TopicName = "t"
	m.MessageID = id
	m.Qos = qos
	m.Payload = binary.BigEndian.AppendUint32(nil, uint32(n))
	return m
}

func publish(t *testing.T, p annotate.Publisher, from, end int) {
	t.Helper()
	for n := from; n < end; n++ {
		m := annotate.Message{Payload: binary.BigEndian.AppendUint32(nil, uint32(n))}
		require.NoError(t, p.Publish(t.Context(), m, func(err error) {
			if err != nil {
				t.Errorf("message %d was confirmed with: %v", n, err)
			}
		}))
	}
}

// receive takes the messages from up to end, in order, duplicates aside, and
// returns the number of duplicates.
func receive(t *testing.T, s annotate.Subscription, from, end int) (duplicates int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for next := from; next < end; {
		d, err := s.Receive(ctx)
		require.NoError(t, err, "where message %d was expected", next)
		n := int(binary.BigEndian.Uint32(d.Payload))
		require.LessOrEqual(t, n, next, "a message was lost or overtaken")
		if n == next {
			next++
		} else {
			duplicates++
		}
		d.Ack()
	}
	return duplicates
}
