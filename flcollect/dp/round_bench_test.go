package dp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// A round of four clients with a million parameters: clipping, summing, noise. The
// noise is about half of the time, and does not grow with the clients.
func BenchmarkRound(b *testing.B) {
	const elements = 1_000_000
	random := make([]float32, elements)
	for i := range random {
		random[i] = float32(i%1013) / 1013
	}
	made := strategy.Model{tensor.FromFloat32s(make([]float32, elements))}
	b.SetBytes(4 * 4 * elements)
	for b.Loop() {
		fedAvg, err := strategy.New("FedAvg", nil)
		require.NoError(b, err)
		private, err := dp.New(fedAvg, strategy.Conf{"num_sampled_clients": 100, "init_clip_norm": 1000}, nil)
		require.NoError(b, err)
		aggregation, err := private.Begin(strategy.Round{Number: 1, Model: made})
		require.NoError(b, err)
		for _, client := range []string{"a", "b", "c", "d"} {
			require.NoError(b, aggregation.Add(b.Context(), answer(client, true, random...)))
		}
		_, err = aggregation.Finish(b.Context())
		require.NoError(b, err)
		require.NoError(b, aggregation.Close())
	}
}
