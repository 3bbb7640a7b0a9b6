package interop_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// mqttEnd is mosquitto with two cables. It is shut down rather than killed for
// a restart: what it has confirmed and not yet saved it would forget.
type mqttEnd struct {
	*mqtttest.Mosquitto
	cables map[string]*mqtttest.Proxy
}

func startMQTT(t *testing.T) *mqttEnd {
	broker := mqtttest.StartMosquitto(t)
	return &mqttEnd{broker, map[string]*mqtttest.Proxy{
		inputCable: mqtttest.NewProxy(t, broker.Address), outputCable: mqtttest.NewProxy(t, broker.Address),
	}}
}

func (e *mqttEnd) topics(...string) {} // they make themselves

func (e *mqttEnd) input() string { return "weather/in/+" }

func (e *mqttEnd) settings(topic, cable string) map[string]any {
	at := e.Address
	if cable != noCable {
		at = e.cables[cable].Address
	}
	return map[string]any{
		"topic": topic, "brokerType": "MQTT",
		"mqttSettings": map[string]any{"protocol": "tcp", "host": at.Host, "port": at.Port,
			"clientId": "annotator of " + strings.ReplaceAll(topic, "/+", "")},
	}
}

// connect connects, and connects again until the test ends. The session stays
// at the broker meanwhile.
func (e *mqttEnd) connect(t *testing.T, id string, take func([]byte)) *autopaho.ConnectionManager {
	t.Helper()
	m, err := autopaho.NewConnection(t.Context(), autopaho.ClientConfig{
		ServerUrls:            []*url.URL{{Scheme: "mqtt", Host: e.String()}},
		KeepAlive:             30,
		SessionExpiryInterval: 3600,
		ReconnectBackoff:      func(int) time.Duration { return retry },
		ClientConfig: paho.ClientConfig{
			ClientID: id,
			OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
				take(p.Packet.Payload)
				return true, nil
			}},
		},
	})
	require.NoError(t, err)
	require.NoError(t, m.AwaitConnection(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = m.Disconnect(ctx) // the broker is about to end, too
	})
	return m
}

func (e *mqttEnd) publisher(t *testing.T) func(context.Context, int, []byte) error {
	m := e.connect(t, "producer", func([]byte) {})
	return func(ctx context.Context, lane int, payload []byte) error {
		message := &paho.Publish{Topic: "weather/in/" + station(lane), QoS: 1, Payload: payload}
		for {
			if err := m.AwaitConnection(ctx); err != nil {
				return fmt.Errorf("publish to mosquitto: %w", err)
			}
			if _, err := m.Publish(ctx, message); err == nil {
				return nil
			}
		}
	}
}

func (e *mqttEnd) consume(t *testing.T, topic string, take func([]byte)) {
	t.Helper()
	m := e.connect(t, "consumer of "+topic, take)
	_, err := m.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: 1}}})
	require.NoError(t, err)
}

func (e *mqttEnd) restart() {
	e.Stop()
	e.Start()
}

func (e *mqttEnd) cut(cable string)     { e.cables[cable].Cut() }
func (e *mqttEnd) restore(cable string) { e.cables[cable].Restore() }
