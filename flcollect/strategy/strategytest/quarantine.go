package strategytest

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// faults are ways to make an update invalid, with a word of the reason.
func faults() map[string]func(*strategy.Update) {
	spike := func(v float32) func(*strategy.Update) {
		return func(u *strategy.Update) {
			layer := tensor.FromFloat32s(make([]float32, 2100), 3, 700)
			for _, chunk := range layer.Chunks() {
				bits := math.Float32bits(v)
				for k := range 4 {
					chunk[4*2099+k] = byte(bits >> (8 * k))
				}
			}
			u.Model[0] = layer
		}
	}
	return map[string]func(*strategy.Update){
		"NaN":     spike(float32(math.NaN())),
		"+Inf":    spike(float32(math.Inf(1))),
		"-Inf":    spike(float32(math.Inf(-1))),
		"shape":   func(u *strategy.Update) { u.Model[0] = tensor.FromFloat32s(make([]float32, 2100), 2100) },
		"type":    func(u *strategy.Update) { u.Model[1] = tensor.FromFloat64s(make([]float64, 5)) },
		"tensors": func(u *strategy.Update) { u.Model = u.Model[:3] },
		"is 0":    func(u *strategy.Update) { u.Examples = 0 },
		"is -5":   func(u *strategy.Update) { u.Examples = -5 },
		"more":    func(u *strategy.Update) { u.Examples = 1 << 62 },
		"element 119": func(u *strategy.Update) {
			values := make([]float64, 120)
			values[119] = math.NaN()
			u.Model[2] = tensor.FromFloat64s(values, 40, 3)
		},
	}
}

func (s suite) quarantine(t *testing.T) {
	want := bits(aggregate(t, s.fresh(), 1, global(), updates(1)))
	for reason, spoil := range faults() {
		t.Run(reason, func(t *testing.T) {
			aggregation := begin(t, s.fresh(), 1, global())
			for k, u := range updates(1) {
				require.NoError(t, aggregation.Add(t.Context(), u))
				if k != 4 {
					continue
				}
				bad := updates(7)[3]
				bad.Client = "mallory"
				spoil(&bad)
				err := aggregation.Add(t.Context(), bad)
				require.ErrorIs(t, err, strategy.ErrQuarantined)
				require.ErrorContains(t, err, `"mallory"`)
				require.ErrorContains(t, err, reason)
			}
			result, err := aggregation.Finish(t.Context())
			require.NoError(t, err)
			require.True(t, equal(want, bits(result)), "the bad update changed the model")
		})
	}
	t.Run("a second answer", func(t *testing.T) {
		aggregation := begin(t, s.fresh(), 1, global())
		for _, u := range updates(1) {
			require.NoError(t, aggregation.Add(t.Context(), u))
		}
		require.ErrorIs(t, aggregation.Add(t.Context(), updates(1)[0]), strategy.ErrQuarantined)
		result, err := aggregation.Finish(t.Context())
		require.NoError(t, err)
		require.True(t, equal(want, bits(result)), "the second answer changed the model")
	})
}

// memory compares the memory of a round after few clients and after many.
func (s suite) memory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory for a second or more")
	}
	const layer = 1 << 18
	model := strategy.Model{tensor.FromFloat32s(make([]float32, layer))}
	values := make([]float32, layer)
	loss := 1.0
	aggregation, err := s.fresh().Begin(strategy.Round{
		Number: 1,
		Model:  model,
		Loss:   &loss,
		Dir:    t.TempDir(),
		Memory: 1 << 20,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, aggregation.Close()) }()
	const clients, ends = 32, 4 // the first and the last are compared
	var held []uint64
	for k := range clients {
		for i := range values {
			values[i] = float32(i%97) * float32(k+1) / 64
		}
		update := strategy.Update{
			Client: fmt.Sprintf("client-%d", k), Examples: int64(k + 1),
			Model: strategy.Model{tensor.FromFloat32s(values)},
		}
		require.NoError(t, aggregation.Add(t.Context(), update))
		if k < ends || k >= clients-ends {
			held = append(held, heap())
		}
	}
	few, many := slices.Min(held[:ends]), slices.Min(held[ends:])
	require.Less(t, many, few+6*4*layer, "28 more clients hold more memory than six of their updates")
	runtime.KeepAlive(values)
}

// heap returns the bytes that are in use after a collection.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
