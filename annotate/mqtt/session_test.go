package mqtt_test

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func TestBroker_Connect_checksTheCertificate(t *testing.T) {
	address, pool := mqtttest.EmbeddedTLS(t)
	settings := address.Topic("t", "c")
	for _, protocol := range []string{"tls", "ssl", "mqtts"} {
		mqtttest.Change(&settings, func(m *mqtt.Settings) { m.Protocol = protocol })
		_, err := mqtt.New(nil).Connect(t.Context(), settings, annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, "certificate")

		p, err := mqtt.New(&mqtt.Options{TLS: &tls.Config{RootCAs: pool}}).Connect(t.Context(), settings, annotate.ConnectOptions{})
		require.NoError(t, err)
		publish(t, p, 0, 100)
		require.NoError(t, p.Close(t.Context()))
	}
}

func TestBroker_Subscribe_reportsATakenSessionAndTakesItBack(t *testing.T) {
	address := mqtttest.Embedded(t)
	b := swift(mqtt.Options{})
	var may permit // the first does not take it back before the second is subscribed
	first, err := b.Subscribe(t.Context(), address.Topic("t", "c"), may.options())
	require.NoError(t, err)
	may.held.Store(true)
	slow := mqtt.New(&mqtt.Options{ReconnectMin: time.Hour, ReconnectMax: time.Hour})
	second, err := slow.Subscribe(t.Context(), address.Topic("t", "c"), annotate.ConnectOptions{})
	require.NoError(t, err)
	may.held.Store(false)
	require.Eventually(t, func() bool { return second.Health() != nil }, patience, time.Millisecond)
	require.ErrorContains(t, second.Health(), address.String()+": annotate: broker unavailable: the broker disconnected: session taken over")
	require.Eventually(t, func() bool { return first.Health() == nil }, patience, time.Millisecond)
	require.NoError(t, second.Close(t.Context()))
	require.NoError(t, first.Forget(t.Context()))
}

func TestBroker_Subscribe_survivesInterruptionsWithoutClientID(t *testing.T) {
	proxy := mqtttest.NewProxy(t, mqtttest.StartMosquitto(t).Address)
	b := swift(mqtt.Options{})
	s, err := b.Subscribe(t.Context(), proxy.Topic("t", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	p, err := b.Connect(t.Context(), proxy.Topic("t", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	publish(t, p, 0, 10)
	require.Zero(t, receive(t, s, 0, 5))
	proxy.Interrupt()
	publish(t, p, 10, 20)
	receive(t, s, 5, 20)
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
}

func TestBroker_protocolError_disconnects(t *testing.T) {
	for name, wrong := range map[string]packets.Packet{
		"QoS 2":             &packets.Publish{Topic: "in", QoS: 2, PacketID: 1, Properties: &packets.Properties{}},
		"PUBREL":            &packets.Pubrel{PacketID: 1, Properties: &packets.Properties{}},
		"session was moved": &packets.Disconnect{ReasonCode: 0x9d, Properties: &packets.Properties{ReasonString: "session was moved"}},
	} {
		var broken atomic.Bool
		p := &peer{}
		p.connack = func(*packets.Connect) *packets.Connack {
			if broken.Load() {
				return &packets.Connack{ReasonCode: 0x88, Properties: &packets.Properties{}}
			}
			return &packets.Connack{Properties: &packets.Properties{}}
		}
		p.answer = func(conn net.Conn, packet *packets.ControlPacket) {
			if grant(conn, packet, 1) {
				broken.Store(true)
				_, _ = wrong.WriteTo(conn)
			}
		}
		p.start(t)
		s, err := mqtt.New(&mqtt.Options{ReconnectMin: time.Hour}).Subscribe(t.Context(), p.settings("in"), annotate.ConnectOptions{})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return s.Health() != nil }, patience, time.Millisecond)
		require.ErrorContains(t, s.Health(), name)
		require.NoError(t, s.Close(t.Context()))
	}
}

func TestBroker_leavesNothingBehind(t *testing.T) {
	proxy := mqtttest.NewProxy(t, mqtttest.Embedded(t))
	b := swift(mqtt.Options{})
	round := func() {
		s, err := b.Subscribe(t.Context(), proxy.Topic("t", "in"), annotate.ConnectOptions{})
		require.NoError(t, err)
		p, err := b.Connect(t.Context(), proxy.Topic("t", "out"), annotate.ConnectOptions{})
		require.NoError(t, err)
		publish(t, p, 0, 10)
		receive(t, s, 0, 5)
		proxy.Interrupt()
		require.NoError(t, p.Close(t.Context()))
		require.NoError(t, s.Forget(t.Context()))

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

func TestBroker_largeMessage_passes(t *testing.T) {
	address := mqtttest.StartMosquitto(t)
	b := mqtt.New(nil)
	s, err := b.Subscribe(t.Context(), address.Topic("t", "in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	p, err := b.Connect(t.Context(), address.Topic("t", "out"), annotate.ConnectOptions{})
	require.NoError(t, err)
	payload := make([]byte, 20<<20)
	_, err = rand.Read(payload)
	require.NoError(t, err)
	require.NoError(t, p.Publish(t.Context(), annotate.Message{Payload: payload}, func(err error) {
		if err != nil {
			t.Error(err)
		}
	}))
	require.NoError(t, p.Close(t.Context()))
	d, err := s.Receive(t.Context())
	require.NoError(t, err)
	require.True(t, bytes.Equal(payload, d.Payload))
	d.Ack()
	require.NoError(t, s.Close(t.Context()))
}
