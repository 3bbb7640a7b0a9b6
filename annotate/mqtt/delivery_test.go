package mqtt_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// swift is a Broker that reconnects without the pauses of real life.
func swift(opts mqtt.Options) *mqtt.Broker {
	opts.ReconnectMin, opts.ReconnectMax = 5*time.Millisecond, 50*time.Millisecond
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, patience)
	return mqtt.New(&opts)
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

func TestBroker_interruptions_keepMessagesInOrder(t *testing.T) {
	proxy := mqtttest.NewProxy(t, mqtttest.StartMosquitto(t).Address)
	b := swift(mqtt.Options{})
	s, err := b.Subscribe(t.Context(), proxy.Topic("t", "in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	p, err := b.Connect(t.Context(), proxy.Topic("t", "out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	const total = 20_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		publish(t, p, 0, total)
	}()
	duplicates := 0
	for from := 0; from < total; from += total / 5 {
		duplicates += receive(t, s, from, from+total/5)
		if from+total/5 < total {
			proxy.Interrupt()
		}
	}
	<-done
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	t.Logf("%d duplicates", duplicates)
}

func TestBroker_killedBroker_keepsTheSession(t *testing.T) {
	m := mqtttest.StartMosquitto(t)
	b := swift(mqtt.Options{})
	s, err := b.Subscribe(t.Context(), m.Topic("t", "in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	p, err := b.Connect(t.Context(), m.Topic("t", "out"), annotate.ConnectOptions{Window: 500})
	require.NoError(t, err)
	publish(t, p, 0, 1000)
	receive(t, s, 0, 400)
	require.NoError(t, p.Close(t.Context()))
	p, err = b.Connect(t.Context(), m.Topic("t", "out"), annotate.ConnectOptions{Window: 500})
	require.NoError(t, err)

	m.Save()
	m.Kill()
	require.Eventually(t, func() bool { return s.Health() != nil && p.Health() != nil }, patience, time.Millisecond)
	require.ErrorIs(t, s.Health(), annotate.ErrBrokerUnavailable)
	publish(t, p, 1000, 1200)
	m.Start()
	// The first 400 were acknowledged, but the snapshot may be older.
	receive(t, s, 400, 1200)
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
}

func TestBroker_lostSession_isSubscribedAgain(t *testing.T) {
	m := mqtttest.StartMosquitto(t)
	b := swift(mqtt.Options{})
	s, err := b.Subscribe(t.Context(), m.Topic("t", "in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	m.Kill() // without Save: the session is gone
	require.Eventually(t, func() bool { return s.Health() != nil }, patience, time.Millisecond)
	m.Start()
	require.Eventually(t, func() bool { return s.Health() == nil }, patience, time.Millisecond)
	p, err := b.Connect(t.Context(), m.Topic("t", "out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	publish(t, p, 0, 10)
	receive(t, s, 0, 10)
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, s.Forget(t.Context()))
}

func TestBroker_fullQueue_slowsTheBrokerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keepAlive = 4 * time.Second
		confirmed := make(chan struct{})
		close(confirmed)
		p := backlogged(50, 1, confirmed)
		b := swift(mqtt.Options{KeepAlive: keepAlive, QueueMessages: 4, QueueBytes: 1 << 20,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				client, broker := net.Pipe()
				go p.serve(newImpatient(broker, keepAlive*3/2))
				return client, nil
			}})
		s, err := b.Subscribe(t.Context(), nowhere("in"), annotate.ConnectOptions{Window: 100})
		require.NoError(t, err)
		// Nothing is received: the queue of 4 is full. A broker that says nothing
		// for 6 s is given up, but here the silence is ours; and the broker gives
		// us up after the same time without a PINGREQ.
		for range 60 {
			time.Sleep(time.Second)
			require.NoError(t, s.Health())
		}
		require.Zero(t, receive(t, s, 0, 50))
		synctest.Wait()
		require.Nil(t, p.connect(1), "the connection was lost meanwhile")
		require.NoError(t, s.Close(t.Context()))
	})
}

func TestBroker_silentBroker_isDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) {
			if grant(conn, packet, 1) {
				_, _ = io.Copy(io.Discard, conn) // from now on the broker reads and does not answer
			}
		}}
		s, err := swift(mqtt.Options{KeepAlive: 4 * time.Second, Dial: p.pipe}).
			Subscribe(t.Context(), nowhere("in"), annotate.ConnectOptions{})
		require.NoError(t, err)
		time.Sleep(6*time.Second - 1)
		require.NoError(t, s.Health())
		require.Nil(t, p.connect(1))
		time.Sleep(2 * time.Second)
		require.NotNil(t, p.connect(1))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_ = s.Close(ctx) // the peer does not answer the last PINGREQ either
	})
}

func TestBroker_Subscribe_sendsTheSessionOptions(t *testing.T) {
	p := &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) { grant(conn, packet, 1) }}
	p.start(t)
	b := mqtt.New(&mqtt.Options{SessionExpiry: time.Hour})
	s, err := b.Subscribe(t.Context(), p.settings("in"), annotate.ConnectOptions{Window: 17})
	require.NoError(t, err)
	c := p.connect(0)
	require.False(t, c.CleanStart)
	require.Equal(t, uint32(3600), *c.Properties.SessionExpiryInterval)
	require.Equal(t, uint16(17), *c.Properties.ReceiveMaximum)
	require.Equal(t, uint32(mqtt.DefaultMaxPacketSize), *c.Properties.MaximumPacketSize)
	require.Equal(t, uint16(30), c.KeepAlive)
	require.Equal(t, "c", c.ClientID)
	require.Equal(t, "station-7", c.Username)
	require.Equal(t, "a secret", string(c.Password))

	require.NoError(t, s.Forget(t.Context()))
	c = p.connect(1)
	require.True(t, c.CleanStart)
	require.Zero(t, *c.Properties.SessionExpiryInterval)
}

func TestBroker_Connect_resendsUnconfirmedMessagesInOrder(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	lost := false
	p := &peer{}
	p.answer = func(conn net.Conn, packet *packets.ControlPacket) {
		mu.Lock()
		defer mu.Unlock()
		m := packet.Content.(*packets.Publish)
		seen = append(seen, string(m.Payload))
		if string(m.Payload) == "3" && !lost {
			lost = true
			_ = conn.Close()
			return
		}
		if lost || string(m.Payload) == "1" {
			ack := packets.Puback{PacketID: m.PacketID, Properties: &packets.Properties{}}
			_, _ = ack.WriteTo(conn)
		}
	}
	p.start(t)
	pub, err := swift(mqtt.Options{}).Connect(t.Context(), p.settings("out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	var confirmed []string
	for _, payload := range []string{"1", "2", "3", "4"} {
		m := annotate.Message{Payload: []byte(payload)}
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) {
			if err == nil {
				confirmed = append(confirmed, payload)
			}
		}))
	}
	require.NoError(t, pub.Close(t.Context()))
	require.Equal(t, []string{"1", "2", "3", "4"}, confirmed)
	mu.Lock()
	defer mu.Unlock()
	// The first may or may not have been confirmed before the loss.
	again := seen[3:]
	if again[0] == "1" {
		again = again[1:]
	}
	require.Equal(t, []string{"2", "3", "4"}, again)
}

func TestBroker_Subscribe_receivesQoS0AndWildcards(t *testing.T) {
	p := &peer{}
	p.answer = func(conn net.Conn, packet *packets.ControlPacket) {
		if grant(conn, packet, 1) {
			m := packets.Publish{Topic: "a/b", Payload: []byte("once or never"), Properties: &packets.Properties{}}
			_, _ = m.WriteTo(conn)
		}
	}
	p.start(t)
	s, err := mqtt.New(nil).Subscribe(t.Context(), p.settings("a/+"), annotate.ConnectOptions{})
	require.NoError(t, err)
	d, err := s.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, annotate.Message{Topic: "a/b", Payload: []byte("once or never")}, d.Message)
	d.Ack()
	require.NoError(t, s.Close(t.Context()))
}

func TestBroker_Subscribe_acknowledgesInOrder(t *testing.T) {
	acks := make(chan uint16, 3)
	p := &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) {
		if ack, ok := packet.Content.(*packets.Puback); ok {
			acks <- ack.PacketID
		}
		if grant(conn, packet, 1) {
			var b bytes.Buffer
			for id := uint16(7); id < 10; id++ {
				m := packets.Publish{Topic: "in", QoS: 1, PacketID: id, Properties: &packets.Properties{}}
				_, _ = m.WriteTo(&b)
			}
			_, _ = conn.Write(b.Bytes())
		}
	}}
	p.start(t)
	s, err := mqtt.New(nil).Subscribe(t.Context(), p.settings("in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	var got []annotate.Delivery
	for range 3 {
		d, err := s.Receive(t.Context())
		require.NoError(t, err)
		got = append(got, d)
	}
	for _, i := range []int{2, 1, 0} { // the wrong order
		got[i].Ack()
	}
	require.NoError(t, s.Close(t.Context()))
	for id := uint16(7); id < 10; id++ {
		require.Equal(t, id, <-acks)
	}
}
