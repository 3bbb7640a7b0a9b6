package mqtt_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// refusals are the ways in which brokers of MQTT 3.1.1 answer a CONNECT of
// MQTT 5.
func refusals() map[string][]byte {
	return map[string][]byte{
		"return code 1":              {0x20, 2, 0, 1},
		"reason code 0x84":           {0x20, 3, 0, 0x84, 0},
		"reason code in an old form": {0x20, 2, 0, 0x84},
		"not authorized":             {0x20, 2, 0, 5},
		"silence":                    nil,
	}
}

// with sets the version.
func with(version string, s annotate.Topic) annotate.Topic {
	mqtttest.Change(&s, func(m *mqtt.Settings) { m.Version = version })
	return s
}

func TestBroker_usesMQTT311WhereTheBrokerNeedsIt(t *testing.T) {
	for name, refusal := range refusals() {
		t.Run(name, func(t *testing.T) {
			old := mqtttest.NewOld(t, mqtttest.Embedded(t), refusal)
			b := swift(mqtt.Options{})
			s, err := b.Subscribe(t.Context(), old.Topic("t", "in"), annotate.ConnectOptions{})
			require.NoError(t, err)
			p, err := b.Connect(t.Context(), old.Topic("t", "out"), annotate.ConnectOptions{})
			require.NoError(t, err)
			publish(t, p, 0, 100)
			require.Zero(t, receive(t, s, 0, 100))
			require.NoError(t, p.Close(t.Context()))
			require.NoError(t, s.Forget(t.Context()))
		})
	}
}

func TestBroker_passesTheSuiteWithABrokerOfMQTT311(t *testing.T) {
	t.Parallel()
	proxy := mqtttest.NewProxy(t, mqtttest.NewOld(t, mqtttest.StartMosquitto(t).Address, []byte{0x20, 2, 0, 1}).Address)
	brokertest.Run(t, brokertest.Harness{
		Broker: swift(mqtt.Options{}), Topic: proxy.Topic, Cut: proxy.Cut, Restore: proxy.Restore,
		Messages: 2000,
	})
}

func TestBroker_reconnection_keepsTheVersion(t *testing.T) {
	old := mqtttest.NewOld(t, mqtttest.Embedded(t), []byte{0x20, 2, 0, 1})
	proxy := mqtttest.NewProxy(t, old.Address)
	s, err := swift(mqtt.Options{}).Subscribe(t.Context(), proxy.Topic("t", "in"), annotate.ConnectOptions{})
	require.NoError(t, err)
	counter := s.(interface{ Reconnects() uint64 })
	require.Zero(t, counter.Reconnects())
	require.Equal(t, 1, old.Turned())
	for n := uint64(1); n <= 3; n++ {
		proxy.Interrupt()
		require.Eventually(t, func() bool { return counter.Reconnects() == n && s.Health() == nil }, patience, time.Millisecond)
	}
	require.Equal(t, 1, old.Turned(), "MQTT 5 was offered again")
	require.Equal(t, 4, old.Passed())
	require.NoError(t, s.Close(t.Context()))
}

func TestBroker_unsupportedVersion_namesTheSetting(t *testing.T) {
	for name, refusal := range refusals() {
		t.Run(name, func(t *testing.T) {
			old := mqtttest.NewOld(t, mqtttest.Embedded(t), refusal)
			_, err := mqtt.New(nil).Subscribe(t.Context(), with(mqtt.Version5, old.Topic("t", "in")), annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.ErrorContains(t, err, "MQTT 5")
			require.ErrorContains(t, err, `mqttSettings.version demands MQTT 5, leave it out or set "3.1.1"`)
			require.Zero(t, old.Passed())

			p, err := mqtt.New(nil).Connect(t.Context(), with(mqtt.Version311, old.Topic("t", "out")), annotate.ConnectOptions{})
			require.NoError(t, err)
			require.NoError(t, p.Close(t.Context()))
		})
	}
	_, err := mqtt.New(nil).Connect(t.Context(), with("4", mqtttest.Address{Host: "127.0.0.1", Port: 1}.Topic("t", "")),
		annotate.ConnectOptions{})
	require.ErrorContains(t, err, `mqttSettings.version: expected one of "5", "3.1.1", got "4"`)
	require.NotErrorIs(t, err, annotate.ErrBrokerUnavailable)
}

func TestBroker_outage_isNotReadAsMQTT311(t *testing.T) {
	proxy := mqtttest.NewProxy(t, mqtttest.Embedded(t))
	proxy.Cut() // it accepts connections and hangs up
	_, err := mqtt.New(nil).Connect(t.Context(), proxy.Topic("t", "c"), annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, "it may not speak MQTT 5, or expect TLS; and with MQTT 3.1.1: ")

	_, err = mqtt.New(nil).Connect(t.Context(), mqtttest.Address{Host: "127.0.0.1", Port: 1}.Topic("t", "c"), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "3.1.1")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = mqtt.New(nil).Connect(ctx, proxy.Topic("t", "c"), annotate.ConnectOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestBroker_refusalByMQTT5_isFinal(t *testing.T) {
	p := refusing(0x86, "")
	p.start(t)
	_, err := mqtt.New(nil).Connect(t.Context(), p.settings("t"), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "bad user name or password (0x86); see mqttSettings.user and password")
	require.Nil(t, p.connect(1))
}
