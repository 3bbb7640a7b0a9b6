package interop_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// echo publishes a message on a topic of the broker and waits for it to arrive
// there.
func echo(t *testing.T, address, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	received := make(chan string, 1)
	client := paho.NewClient(paho.ClientConfig{
		Conn: connection,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			received <- string(p.Packet.Payload)
			return true, nil
		}},
	})
	_, err = client.Connect(ctx, &paho.Connect{ClientID: "echo", CleanStart: true, KeepAlive: 30})
	require.NoError(t, err)
	_, err = client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "echo", QoS: 1}}})
	require.NoError(t, err)
	_, err = client.Publish(ctx, &paho.Publish{Topic: "echo", QoS: 1, Payload: []byte(message)})
	require.NoError(t, err)
	select {
	case got := <-received:
		require.Equal(t, message, got)
	case <-ctx.Done():
		t.Fatalf("message %q did not come back within a minute", message)
	}
	require.NoError(t, client.Disconnect(&paho.Disconnect{}))
}

func TestStartMosquitto_servesClientsOfMQTT5(t *testing.T) {
	echo(t, mqtttest.StartMosquitto(t).String(), "hello")
}

func TestMosquitto_Start_keepsTheAddressAfterAKill(t *testing.T) {
	broker := mqtttest.StartMosquitto(t)
	address := broker.String()
	echo(t, address, "before")

	broker.Kill()
	_, err := net.Dial("tcp", address)
	require.Error(t, err, "no broker listens after a kill")

	broker.Start()
	require.Equal(t, address, broker.String())
	echo(t, address, "after")
}

func TestStartMosquitto_brokersAreSeparate(t *testing.T) {
	one, two := mqtttest.StartMosquitto(t), mqtttest.StartMosquitto(t)
	require.NotEqual(t, one.String(), two.String())
	echo(t, one.String(), "one")
	echo(t, two.String(), "two")
}
