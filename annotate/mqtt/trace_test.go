package mqtt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func TestBroker_carriesTracesInUserProperties(t *testing.T) {
	at := mqtttest.Embedded(t)
	broker := mqtt.New(nil)
	trace := annotate.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "vendor=1"}
	for version, want := range map[string][]annotate.Trace{
		mqtt.Version5: {trace, {}, {Parent: trace.Parent}}, mqtt.Version311: {{}, {}, {}},
	} {
		topic := at.Topic("traces/"+version, "reader-"+version)
		sub, err := broker.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = sub.Close(t.Context()) })
		sender := at.Topic("traces/"+version, "sender-"+version)
		mqtttest.Change(&sender, func(s *mqtt.Settings) { s.Version = version })
		pub, err := broker.Connect(t.Context(), sender, annotate.ConnectOptions{})
		require.NoError(t, err)
		for n, carried := range []annotate.Trace{trace, {}, {Parent: trace.Parent}} {
			confirmed := make(chan error, 1)
			m := annotate.Message{Payload: []byte("x"), Trace: carried}
			require.NoError(t, pub.Publish(t.Context(), m, func(err error) { confirmed <- err }))
			require.NoError(t, <-confirmed)
			d, err := sub.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, "x", string(d.Payload))
			require.Equal(t, want[n], d.Trace, "MQTT %s", version)
			d.Ack()
		}
		require.NoError(t, pub.Close(t.Context()))
	}
}
