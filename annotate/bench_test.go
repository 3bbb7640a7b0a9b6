package annotate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// BenchmarkChannel measures what a channel adds to its broker and its mapping:
// one operation is one small message through an in-memory broker.
func BenchmarkChannel(b *testing.B) {
	broker := annotate.NewMemoryBroker(&annotate.MemoryOptions{History: 1})
	channel, err := annotate.NewChannel(config("bench"), environment(broker))
	require.NoError(b, err)
	require.NoError(b, channel.Start(b.Context()))
	b.Cleanup(func() { require.NoError(b, channel.Close()) })
	payload := []byte(`{"id": 17, "value": "v17"}`)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, broker.Publish(b.Context(), annotate.Message{Topic: "bench/in", Payload: payload}))
	}
	for channel.Stats().Published < uint64(b.N) {
		_, err := broker.Await(b.Context(), "bench/out", 1)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}
