package strategy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// allocated returns how many bytes a function allocates.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestRound_NewSum_hasNothingOfTheSumBefore compares sums in memory that was used before
// with fresh ones: of other sizes, with updates that fail half-way, with blocks of zeros.
func TestRound_NewSum_hasNothingOfTheSumBefore(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	spare := &strategy.Spare{}
	for number := range 60 {
		form := randomForm(t, random)
		used, fresh := strategy.Round{Model: form, Spare: spare}.NewSum(), strategy.NewSum(form)
		require.Equal(t, tensorBytes(fresh.Encode()), tensorBytes(used.Encode()), "round %d: a sum of nothing", number)
		for range random.IntN(4) {
			model := sparse(random, form)
			factor := float64(1 + random.Int64N(1<<random.IntN(41)))
			if random.IntN(3) == 0 {
				spoilt, ok := spoil(random, model)
				if ok {
					require.Error(t, used.Add(spoilt, factor))
				}
			}
			if random.IntN(3) == 0 {
				part := strategy.NewSum(form)
				require.NoError(t, part.Add(model, factor))
				require.NoError(t, used.Merge(part.Encode()))
			} else {
				require.NoError(t, used.Add(model, factor))
			}
			require.NoError(t, fresh.Add(model, factor))
		}
		require.Equal(t, tensorBytes(fresh.Encode()), tensorBytes(used.Encode()), "round %d", number)
		require.Equal(t, sumBits(fresh, form), sumBits(used, form), "round %d", number)
		used.Release()
		require.Equal(t, sumBits(strategy.NewSum(form), form), sumBits(used, form), "round %d: a released sum is zero", number)
	}
}

// sparse returns a random model some of whose blocks are zero.
func sparse(random *rand.Rand, form strategy.Model) strategy.Model {
	dense := randomModel(random, form, float64(random.IntN(9)))
	return strategy.Map(form, func(values []float64, layer, from int) {
		dense[layer].ReadFloat64s(values, from)
		for at := 0; at < len(values); at += 512 {
			if random.IntN(2) == 0 {
				clear(values[at:min(at+512, len(values))])
			}
		}
	})
}

// spoil returns a copy of a model whose last number of 32 bits is not one; false if it has none.
func spoil(random *rand.Rand, model strategy.Model) (strategy.Model, bool) {
	for i := len(model) - 1; i >= 0; i-- {
		if layer := model[i]; layer.DType() == tensor.Float32 && layer.Len() > 0 {
			spoilt := strategy.Map(model, func(values []float64, layer, from int) { model[layer].ReadFloat64s(values, from) })
			spoilt[i] = strategy.Map(strategy.Model{layer}, func(values []float64, _, from int) {
				layer.ReadFloat64s(values, from)
				if last := layer.Len() - 1 - from; last < len(values) {
					values[last] = []float64{math.NaN(), math.Inf(1)}[random.IntN(2)]
				}
			})[0]
			return spoilt, true
		}
	}
	return nil, false
}

// TestAggregation_sumsInTheMemoryOfTheRoundBefore trains rounds of a model of 4 MB, whose
// sum takes 8 MB. The new model is allocated in each round, the sum in the first one.
func TestAggregation_sumsInTheMemoryOfTheRoundBefore(t *testing.T) {
	const elements = 1 << 20
	ctx := context.Background()
	for name, conf := range map[string]strategy.Conf{
		"FedAvg": {}, "FedAvgM": {"server_momentum": 0.9}, "QFedAvg": {},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := strategy.New(name, conf)
			require.NoError(t, err)
			spare := &strategy.Spare{}
			model := strategy.Model{tensor.FromFloat32s(make([]float32, elements))}
			for number := range 4 {
				model2 := strategy.Model{tensor.FromFloat32s(make([]float32, elements))}
				bytes := allocated(func() {
					sums, err := made.Begin(strategy.Round{Number: 1 + number, Model: model, Spare: spare})
					require.NoError(t, err)
					for client := range 2 {
						require.NoError(t, sums.Add(ctx, strategy.Update{
							Client: fmt.Sprint(client), Examples: 1, Model: model2, Metrics: map[string]any{"loss": 1.0},
						}))
					}
					_, err = sums.Finish(ctx)
					require.NoError(t, err)
					require.NoError(t, sums.Close())
				})
				if number > 0 && name != "FedAvgM" {
					require.Less(t, bytes, int64(5<<20), "round %d", number+1)
				} else if number > 0 { // and its velocity, 8 MB
					require.Less(t, bytes, int64(14<<20), "round %d", number+1)
				}
			}
		})
	}
}

func TestSpare_keepsNothingForAJobThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := strategy.Model{tensor.FromFloat32s(make([]float32, 1<<20))}
		model[0] = strategy.Map(model, func(values []float64, _, _ int) { values[0] = 1 })[0]
		round := strategy.Round{Model: model, Spare: &strategy.Spare{}}
		sum := func() {
			made := round.NewSum()
			require.NoError(t, made.Add(model, 1))
			made.Release()
		}
		sum()
		require.Less(t, allocated(sum), int64(1<<20))
		time.Sleep(9 * time.Second)
		require.Less(t, allocated(sum), int64(1<<20))
		time.Sleep(11 * time.Second)
		require.Greater(t, allocated(sum), int64(8<<20), "the memory was freed")
	})
}
