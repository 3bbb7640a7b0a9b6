package mqtt_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// peer is a broker that answers as a test tells it to.
type peer struct {
	listener net.Listener
	// connack is the answer to CONNECT; nil means plain success.
	connack func(*packets.Connect) *packets.Connack
	// answer is what goes back for any other packet.
	answer func(conn net.Conn, p *packets.ControlPacket)

	mu       sync.Mutex
	connects []*packets.Connect
}

func (p *peer) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.listener = listener
	ctx, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
			work.Go(func() {
				defer ended()
				p.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		end() // a client of a test that failed may still be connected
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

// impatient is the broker's end of a pipe. Writes wait in a buffer, as in that of a network. A
// read fails if the client sends nothing for a time, as brokers give up a client without a
// PINGREQ (MQTT 5 section 3.1.2.10).
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

// nowhere are settings for a dialer that does not look at the address.
func nowhere(topic string) annotate.Topic {
	return mqtttest.Address{Host: "127.0.0.1", Port: 1}.Topic(topic, "c")
}

func (p *peer) settings(topic string) annotate.Topic {
	host, port, _ := net.SplitHostPort(p.listener.Addr().String())
	number, _ := strconv.Atoi(port)
	return annotate.Topic{
		Name: topic, Broker: mqtt.Type,
		Settings: mqtt.Settings{
			Protocol: "mqtt", Host: host, Port: number, ClientID: "c",
			User: "station-7", Password: "a secret",
		},
	}
}

func (p *peer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		switch content := packet.Content.(type) {
		case *packets.Connect:
			p.mu.Lock()
			p.connects = append(p.connects, content)
			p.mu.Unlock()
			ack := &packets.Connack{Properties: &packets.Properties{}}
			if p.connack != nil {
				ack = p.connack(content)
			}
			if _, err := ack.WriteTo(conn); err != nil {
				return
			}
		case *packets.Disconnect:
			return
		case *packets.Pingreq:
			_, _ = packets.NewControlPacket(packets.PINGRESP).WriteTo(conn)
		default:
			if p.answer != nil {
				p.answer(conn, packet)
			}
		}
	}
}

// connect returns the n-th CONNECT packet.
func (p *peer) connect(n int) *packets.Connect {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n >= len(p.connects) {
		return nil
	}
	return p.connects[n]
}

// grant is an answer that confirms subscriptions.
func grant(conn net.Conn, packet *packets.ControlPacket, code byte) bool {
	s, ok := packet.Content.(*packets.Subscribe)
	if ok {
		ack := packets.Suback{PacketID: s.PacketID, Reasons: []byte{code}, Properties: &packets.Properties{}}
		_, _ = ack.WriteTo(conn)
	}
	return ok
}

// raw listens, answers the CONNECT of each connection with bytes, and hangs up.
func raw(t *testing.T, answer []byte) annotate.Topic {
	t.Helper()
	p := &peer{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.listener = listener
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			_, _ = packets.ReadPacket(conn) // the CONNECT
			_, _ = conn.Write(answer)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		work.Wait()
	})
	return p.settings("t")
}
