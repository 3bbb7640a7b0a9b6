package bond

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuality_lossRx_coversTheLastHundredProbes(t *testing.T) {
	t.Parallel()
	var q quality
	require.Zero(t, q.lossRx())
	q.arrive(0)
	for range 300 {
		q.arrive(2) // every other one is lost
	}
	require.InDelta(t, 0.5, q.lossRx(), 0.001)
	q.arrive(-1) // late, not lost
	require.InDelta(t, 0.49, q.lossRx(), 0.001)
	for range 100 {
		q.arrive(1)
	}
	require.Zero(t, q.lossRx())
	for _, wild := range []int32{-1 << 31, 1<<31 - 1, -127, -128, 127, 128, 0} {
		q.arrive(wild)
		require.LessOrEqual(t, q.lossRx(), 1.0)
	}
}
