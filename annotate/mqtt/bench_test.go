package mqtt_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// BenchmarkPublish sends messages of 500 bytes with QoS 1, in order: through a
// publisher of either version of MQTT with windows of several sizes, and with
// the blocking Publish of the paho client, one message at a time. The time is
// per message, until its confirmation.
func BenchmarkPublish(b *testing.B) {
	payload := make([]byte, 500)
	for _, broker := range []struct {
		name  string
		start func(testing.TB) mqtttest.Address
	}{
		{"embedded", mqtttest.Embedded},
		{"mosquitto", func(tb testing.TB) mqtttest.Address { return mqtttest.StartMosquitto(tb).Address }},
	} {
		b.Run(broker.name, func(b *testing.B) {
			address := broker.start(b)
			for _, window := range []int{1, 16, 256} {
				for _, version := range versions() {
					b.Run(fmt.Sprintf("window=%d/version=%s", window, version), func(b *testing.B) {
						p, err := mqtt.New(nil).Connect(b.Context(), with(version, address.Topic("t", "bench")), annotate.ConnectOptions{Window: window})
						require.NoError(b, err)
						b.ReportAllocs()
						for b.Loop() {
							if err := p.Publish(b.Context(), annotate.Message{Payload: payload}, func(error) {}); err != nil {
								b.Fatal(err)
							}
						}
						require.NoError(b, p.Close(context.WithoutCancel(b.Context())))
					})
				}
			}
			b.Run("paho-blocking", func(b *testing.B) {
				conn, err := net.Dial("tcp", address.String())
				require.NoError(b, err)
				client := paho.NewClient(paho.ClientConfig{Conn: conn})
				_, err = client.Connect(b.Context(), &paho.Connect{ClientID: "bench", CleanStart: true, KeepAlive: 30})
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := client.Publish(b.Context(), &paho.Publish{Topic: "t", QoS: 1, Payload: payload}); err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, client.Disconnect(&paho.Disconnect{}))
			})
		})
	}
}

// BenchmarkReceive takes in messages of 500 bytes with QoS 1 while a publisher
// of MQTT 5 sends them, and acknowledges each. The time is per message, for
// both together and the broker between them.
func BenchmarkReceive(b *testing.B) {
	payload := make([]byte, 500)
	address := mqtttest.StartMosquitto(b)
	for _, version := range versions() {
		b.Run("version="+version, func(b *testing.B) {
			broker := mqtt.New(nil)
			s, err := broker.Subscribe(b.Context(), with(version, address.Topic("t", "reader")), annotate.ConnectOptions{Window: 512})
			require.NoError(b, err)
			p, err := broker.Connect(b.Context(), address.Topic("t", "writer"), annotate.ConnectOptions{Window: 512})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for p.Publish(ctx, annotate.Message{Payload: payload}, func(error) {}) == nil {
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				d, err := s.Receive(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				d.Ack()
			}
			cancel()
			<-done
			end := context.WithoutCancel(b.Context())
			require.NoError(b, p.Close(end))
			require.NoError(b, s.Forget(end))
		})
	}
}
