package mqtt3_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// everySecond is a dialer that fails every second time.
func everySecond(dials *int) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if *dials++; *dials%2 == 0 {
			return nil, errors.New("not this time")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

func TestBroker_Subscribe_sendsTheSessionOptions(t *testing.T) {
	p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) { grant(conn, packet, 1) }}
	p.start(t)
	s, err := newOld(nil).Subscribe(t.Context(), p.Topic("in", "reader"), annotate.ConnectOptions{})
	require.NoError(t, err)
	c := p.connect(0)
	require.Equal(t, "MQTT", c.ProtocolName)
	require.Equal(t, byte(4), c.ProtocolVersion)
	require.False(t, c.CleanSession)
	require.Equal(t, uint16(30), c.Keepalive)
	require.Equal(t, "reader", c.ClientIdentifier)
	require.False(t, c.UsernameFlag || c.PasswordFlag || c.WillFlag)
	require.NoError(t, s.Close(t.Context()))
	require.Nil(t, p.connect(1), "a named session was erased by Close")
	require.NoError(t, s.Forget(t.Context()))
	require.True(t, p.connect(1).CleanSession)

	pub, err := newOld(nil).Connect(t.Context(), p.Topic("out", "writer"), annotate.ConnectOptions{})
	require.NoError(t, err)
	require.True(t, p.connect(2).CleanSession)
	require.NoError(t, pub.Close(t.Context()))
}

func TestBroker_Subscribe_leavesNoSessionWithoutClientID(t *testing.T) {
	p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) { grant(conn, packet, 1) }}
	p.start(t)
	s, err := newOld(nil).Subscribe(t.Context(), p.Topic("in", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	first := p.connect(0)
	require.False(t, first.CleanSession)
	require.Regexp(t, "^[0-9a-zA-Z]{1,23}$", first.ClientIdentifier) // section 3.1.3.1
	require.NoError(t, s.Close(t.Context()))
	require.Equal(t, first.ClientIdentifier, p.connect(1).ClientIdentifier)
	require.True(t, p.connect(1).CleanSession)
}

func TestBroker_Connect_resendsUnconfirmedMessagesAsDuplicates(t *testing.T) {
	type sent struct {
		payload string
		dup     bool
	}
	var mu sync.Mutex
	var seen []sent
	lost := false
	p := &peer{}
	p.answer = func(conn net.Conn, packet packets.ControlPacket) {
		mu.Lock()
		defer mu.Unlock()
		m := packet.(*packets.PublishPacket)
		seen = append(seen, sent{string(m.Payload), m.Dup})
		if string(m.Payload) == "3" && !lost {
			lost = true
			_ = conn.Close()
			return
		}
		if lost {
			confirm(conn, m)
		}
	}
	p.start(t)
	pub, err := swift(mqtt.Options{}).Connect(t.Context(), p.Topic("t", "c"), annotate.ConnectOptions{Window: 3})
	require.NoError(t, err)
	var confirmed []string
	for _, payload := range []string{"1", "2", "3", "4"} {
		require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte(payload)}, func(err error) {
			if err == nil {
				confirmed = append(confirmed, payload)
			}
		}))
	}
	require.NoError(t, pub.Close(t.Context()))
	require.Equal(t, []string{"1", "2", "3", "4"}, confirmed)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []sent{{"1", false}, {"2", false}, {"3", false}, {"1", true}, {"2", true}, {"3", true}, {"4", false}}, seen)
}

func TestBroker_Subscribe_acknowledgesInOrder(t *testing.T) {
	acks := make(chan uint16, 3)
	p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) {
		if ack, ok := packet.(*packets.PubackPacket); ok {
			acks <- ack.MessageID
		}
		if grant(conn, packet, 1) {
			for id := uint16(7); id < 10; id++ {
				_ = message(id, 1, int(id)).Write(conn)
			}
		}
	}}
	p.start(t)
	s, err := newOld(nil).Subscribe(t.Context(), p.Topic("t", "c"), annotate.ConnectOptions{})
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

func TestBroker_Subscribe_retainedMessageComesOnce(t *testing.T) {
	address := mqtttest.StartMosquitto(t)
	proxy := mqtttest.NewProxy(t, address.Address)
	retain(t, address.Address)
	s, err := swift(mqtt.Options{}).Subscribe(t.Context(), proxy.Topic("t", "c"), annotate.ConnectOptions{})
	require.NoError(t, err)
	require.Zero(t, receive(t, s, 0, 1))
	p, err := newOld(nil).Connect(t.Context(), address.Topic("t", "out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	for n := 1; n < 4; n++ {
		proxy.Interrupt()
		require.Eventually(t, func() bool {
			return s.Health() == nil && s.(interface{ Reconnects() uint64 }).Reconnects() == uint64(n)
		}, patience, time.Millisecond)
		publish(t, p, n, n+1)
		receive(t, s, n, n+1)
	}
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
}

// retain leaves message 0 in the topic t.
func retain(t *testing.T, address mqtttest.Address) {
	t.Helper()
	conn, err := net.Dial("tcp", address.String())
	require.NoError(t, err)
	defer conn.Close()
	connect := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	connect.ProtocolName = "MQTT"
	connect.ProtocolVersion = 4
	connect.CleanSession = true
	connect.ClientIdentifier = "retainer"
	m := message(1, 1, 0)
	m.Retain = true
	require.NoError(t, connect.Write(conn))
	require.NoError(t, m.Write(conn))
	for range 2 { // CONNACK and PUBACK
		_, err := packets.ReadPacket(conn)
		require.NoError(t, err)
	}
}

func TestBroker_fullQueue_slowsTheBrokerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keepAlive = 4 * time.Second
		p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) {
			if grant(conn, packet, 1) {
				for n := range 50 {
					_ = message(uint16(n+1), 1, n).Write(conn)
				}
			}
		}}
		b := swift(mqtt.Options{KeepAlive: keepAlive, QueueMessages: 4, QueueBytes: 1 << 20,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				client, broker := net.Pipe()
				go p.serve(newImpatient(broker, keepAlive*3/2))
				return client, nil
			}})
		s, err := b.Subscribe(t.Context(), nowhere("t"), annotate.ConnectOptions{Window: 100})
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
		p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) {
			if grant(conn, packet, 1) {
				_, _ = io.Copy(io.Discard, conn) // from now on the broker reads and does not answer
			}
		}}
		s, err := newOld(&mqtt.Options{KeepAlive: 4 * time.Second, ReconnectMin: time.Hour, Dial: p.pipe}).
			Subscribe(t.Context(), nowhere("in"), annotate.ConnectOptions{})
		require.NoError(t, err)
		time.Sleep(6*time.Second - 1)
		require.NoError(t, s.Health())
		time.Sleep(2 * time.Second)
		require.ErrorContains(t, s.Health(), "the broker has been silent for")
		require.NoError(t, s.Close(t.Context()))
	})
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
	publish(t, p, 1000, 1200)
	m.Start()
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

func TestBroker_Connect_checksTheCertificate(t *testing.T) {
	address, pool := mqtttest.EmbeddedTLS(t)
	settings := address.Topic("t", "c")
	mqtttest.Change(&settings, func(m *mqtt.Settings) { m.Protocol = "mqtts" })

	_, err := newOld(nil).Connect(t.Context(), settings, annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, "certificate")
	p, err := newOld(&mqtt.Options{TLS: &tls.Config{RootCAs: pool}}).Connect(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	publish(t, p, 0, 100)
	require.NoError(t, p.Close(t.Context()))
}

func TestBroker_leavesNothingBehind(t *testing.T) {
	proxy := mqtttest.NewProxy(t, mqtttest.Embedded(t))
	b := swift(mqtt.Options{})
	round := func() {
		s, err := b.Subscribe(t.Context(), proxy.Topic("t", ""), annotate.ConnectOptions{})
		require.NoError(t, err)
		p, err := b.Connect(t.Context(), proxy.Topic("t", "out"), annotate.ConnectOptions{})
		require.NoError(t, err)
		publish(t, p, 0, 10)
		receive(t, s, 0, 5)
		proxy.Interrupt()
		require.NoError(t, p.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()))

		proxy.Cut()
		_, err = b.Connect(t.Context(), proxy.Topic("t", "out"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		proxy.Restore()
	}
	round()
	before := runtime.NumGoroutine()
	for range 10 {
		round()
	}
	// The brokers' and the proxy's goroutines take a moment to end.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+3 }, patience, 10*time.Millisecond)
}
