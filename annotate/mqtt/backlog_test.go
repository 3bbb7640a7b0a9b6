package mqtt_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func TestBroker_Subscribe_receivesALargeBacklog(t *testing.T) {
	for name, broker := range map[string]func(*testing.T) mqtttest.Address{
		"embedded":  func(t *testing.T) mqtttest.Address { return mqtttest.Embedded(t) },
		"mosquitto": func(t *testing.T) mqtttest.Address { return mqtttest.StartMosquitto(t).Address },
	} {
		t.Run(name, func(t *testing.T) {
			address := broker(t)
			b := swift(mqtt.Options{QueueBytes: 100, ConnectTimeout: patience})
			s, err := b.Subscribe(t.Context(), address.Topic("t", "in"), annotate.ConnectOptions{})
			require.NoError(t, err)
			require.NoError(t, s.Close(t.Context()))
			p, err := b.Connect(t.Context(), address.Topic("t", "out"), annotate.ConnectOptions{})
			require.NoError(t, err)
			publish(t, p, 0, 200)
			require.NoError(t, p.Close(t.Context()))

			s, err = b.Subscribe(t.Context(), address.Topic("t", "in"), annotate.ConnectOptions{})
			require.NoError(t, err)
			require.Zero(t, receive(t, s, 0, 200))
			require.NoError(t, s.Health())
			require.NoError(t, s.Forget(t.Context()))
		})
	}
}

// backlogged is a peer that answers a SUBSCRIBE with the messages from 0 up to
// end, and confirms it with code once confirm is closed.
func backlogged(end uint16, code byte, confirm <-chan struct{}) *peer {
	return &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) {
		if packet.Type != packets.SUBSCRIBE {
			return
		}
		for n := range end {
			m := &packets.Publish{Topic: "in", QoS: 1, PacketID: n + 1, Payload: []byte{0, 0, byte(n >> 8), byte(n)},
				Properties: &packets.Properties{}}
			_, _ = m.WriteTo(conn)
		}
		go func() {
			<-confirm
			grant(conn, packet, code)
		}()
	}}
}

func TestBroker_Subscribe_receivesASlowBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirm := make(chan struct{})
		p := backlogged(10, 1, confirm)
		b := swift(mqtt.Options{ConnectTimeout: 50 * time.Millisecond, Dial: p.pipe})
		s, err := b.Subscribe(t.Context(), nowhere("in"), annotate.ConnectOptions{})
		require.NoError(t, err)
		receive(t, s, 0, 10)
		close(confirm)
		synctest.Wait()
		require.Nil(t, p.connect(1), "the connection was made anew")
		require.NoError(t, s.Health())
		require.NoError(t, s.Close(t.Context()))
	})
}

func TestBroker_Subscribe_reportsARefusalAfterTheBacklog(t *testing.T) {
	confirm := make(chan struct{})
	p := backlogged(10, 0x87, confirm)
	first := p.answer
	p.answer = func(conn net.Conn, packet *packets.ControlPacket) {
		if p.connect(1) == nil {
			first(conn, packet)
			return
		}
		// Another backlog would fill the queue again, and hide the refusal
		// behind messages that the test does not receive.
		grant(conn, packet, 0x87)
	}
	p.start(t)
	s, err := swift(mqtt.Options{QueueMessages: 2}).Subscribe(t.Context(), p.settings("in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	receive(t, s, 0, 10)
	close(confirm)
	require.Eventually(t, func() bool { return s.Health() != nil }, patience, time.Millisecond)
	require.ErrorContains(t, s.Health(), "the broker refused the subscription: not authorized")
	require.NoError(t, s.Close(t.Context()))
}

func TestBroker_Subscribe_failsWithoutConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		defer close(never)
		p := backlogged(0, 1, never)
		b := mqtt.New(&mqtt.Options{ConnectTimeout: 30 * time.Millisecond, Dial: p.pipe})
		_, err := b.Subscribe(t.Context(), nowhere("in"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, "no answer within 30ms: subscription not confirmed")
	})
}
