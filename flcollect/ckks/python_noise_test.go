package ckks_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/peertest"
)

// The key of the noise is fixed, so the bounds hold in every run if they hold in
// one; they are four standard deviations of what they bound.
func TestAggregation_Blur_addsNoiseThatTenSEALDecrypts(t *testing.T) {
	program := peertest.Python(t, newest, numpy)
	for deviation, set := range map[float64]population{
		0.25: {Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40, Weights: []int64{1, 1, 1}},
		1000: {Degree: 16384, Sizes: []int{60, 50, 50, 60}, Scale: 50, Weights: []int64{5, 7}},
	} {
		t.Run(fmt.Sprint(set.Sizes), func(t *testing.T) {
			t.Parallel()
			set.Layers = []layer{
				{"unbatched", []int{4, 8}},
				{"packed", []int{2500, 2}},
				{"vector", []int{9000}},
				{"vector", []int{100}},
			}
			if raced {
				set.Layers = []layer{{"unbatched", []int{2, 2}}, {"packed", []int{2500}}, {"vector", []int{100}}}
			}
			folder := t.TempDir()
			peer(t, program, "encrypt", folder, wholePopulation(set))
			random := rand.New(rand.NewChaCha8([32]byte{5}))
			aggregateWith(t, folder, set, nil, func(a strategy.Aggregation) {
				require.NoError(t, a.(*ckks.Aggregation).Blur(t.Context(), deviation, random.NormFloat64))
			})
			keep(t, folder, set)
			lines := strings.Split(peer(t, program, "noise", folder, set), "\n")
			require.Len(t, lines, len(set.Layers))
			for k, line := range lines {
				var noise []float64
				require.NoError(t, json.Unmarshal([]byte(line), &noise))
				isGaussian(t, noise, deviation, fmt.Sprint(set.Layers[k]))
			}
		})
	}
}

// isGaussian says that numbers are independent with a mean of zero and a standard
// deviation.
func isGaussian(t *testing.T, values []float64, deviation float64, name string) {
	t.Helper()
	count, sum, squares, neighbours, beyond := float64(len(values)), 0.0, 0.0, 0.0, 0.0
	for k, v := range values {
		v /= deviation
		sum, squares = sum+v, squares+v*v
		neighbours += v * values[(k+1)%len(values)] / deviation
		if math.Abs(v) > 1 {
			beyond++
		}
	}
	require.InDelta(t, 0, sum/count, 4/math.Sqrt(count), name)
	require.InDelta(t, 1, math.Sqrt(squares/count), 4/math.Sqrt(2*count), name)
	require.InDelta(t, 0, neighbours/count, 4/math.Sqrt(count), name)
	require.InDelta(t, 0.3173, beyond/count, 4*0.4654/math.Sqrt(count), name)
}
