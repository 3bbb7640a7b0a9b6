package strategy_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// merging begins a round of a strategy that merges.
func merging(t testing.TB, s strategy.Strategy, model strategy.Model) strategy.Merging {
	t.Helper()
	require.NoError(t, strategy.Merges(s))
	made, err := s.Begin(strategy.Round{Number: 1, Model: model})
	require.NoError(t, err)
	t.Cleanup(func() { _ = made.Close() })
	return made.(strategy.Merging)
}

// guarded returns norm bounding that only reports.
func guarded(t testing.TB, s strategy.Strategy) strategy.Strategy {
	t.Helper()
	made, err := strategy.NewBounded(s, strategy.Conf{"norm_clip": false})
	require.NoError(t, err)
	return made
}

// TestMerging_makesTheBitsOfOneAggregation compares three levels with one, over rounds.
func TestMerging_makesTheBitsOfOneAggregation(t *testing.T) {
	for name, conf := range map[string]strategy.Conf{
		"FedAvg": {}, "FedProx": {"proximal_mu": 0.1}, "FaultTolerantFedAvg": {},
		"FedAvgM": {"server_momentum": 0.9, "server_learning_rate": 0.7}, "FedAdam": {}, "FedYogi": {}, "FedAdagrad": {},
	} {
		t.Run(name, func(t *testing.T) {
			made := func() strategy.Strategy {
				s, err := strategy.New(name, conf)
				require.NoError(t, err)
				return s
			}
			random := rand.New(rand.NewPCG(5, 6))
			form := randomForm(t, random)
			flat, top := made(), guarded(t, made())
			flatModel := randomModel(random, form, 1)
			topModel := flatModel
			for range 4 {
				whole, root := merging(t, flat, flatModel), merging(t, top, topModel)
				for m := range 3 { // in the middle
					middle := merging(t, made(), topModel)
					for e := range 2 {
						edge := merging(t, guarded(t, made()), topModel)
						for c := range 1 + random.IntN(5) {
							update := strategy.Update{
								Client: fmt.Sprint(m, e, c), Examples: 1 + random.Int64N(1<<random.IntN(41)),
								Model: randomModel(random, form, 1),
							}
							require.NoError(t, whole.Add(t.Context(), update))
							if c == 4 { // a client of the middle itself
								require.NoError(t, middle.Add(t.Context(), update))
								continue
							}
							require.NoError(t, edge.Add(t.Context(), update))
						}
						pass(t, edge, middle, fmt.Sprint("edge", e))
					}
					pass(t, middle, root, fmt.Sprint("middle", m))
				}
				var err error
				flatModel, err = whole.Finish(t.Context())
				require.NoError(t, err)
				topModel, err = root.Finish(t.Context())
				require.NoError(t, err)
				for i := range flatModel {
					require.Equal(t, flatModel[i].Chunks(), topModel[i].Chunks())
				}
			}
		})
	}
}

// pass merges the sum of one aggregation into another.
func pass(t testing.TB, from, to strategy.Merging, name string) {
	t.Helper()
	partial, err := from.Sum(t.Context())
	require.NoError(t, err)
	partial.Client = name
	require.NoError(t, to.Merge(t.Context(), partial))
}

func TestMerges_refusesStrategiesThatNeedEveryUpdate(t *testing.T) {
	for name, conf := range map[string]strategy.Conf{
		"Krum": {}, "MultiKrum": {}, "Bulyan": {}, "FedMedian": {}, "FedTrimmedAvg": {}, "QFedAvg": {},
	} {
		s, err := strategy.New(name, conf)
		require.NoError(t, err)
		require.ErrorContains(t, strategy.Merges(s), "needs the update of every client", name)
		require.Error(t, strategy.Merges(guarded(t, s)), name)
	}
	average, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	cutting, err := strategy.NewBounded(average, nil)
	require.NoError(t, err)
	require.ErrorContains(t, strategy.Merges(cutting), "norm bounding that cuts updates")
}

func TestMerging_Merge_refusesWhatNoClientsHaveSent(t *testing.T) {
	s, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	model := strategy.Model{tensor.FromFloat32s([]float32{1, 2})}
	of := func(factor float64) []tensor.Tensor {
		sum := strategy.NewSum(model)
		require.NoError(t, sum.Add(strategy.Model{tensor.FromFloat32s([]float32{math.MaxFloat32, 1})}, factor))
		return sum.Encode()
	}
	root := merging(t, guarded(t, s), model)
	for want, p := range map[string]strategy.Partial{
		"the sum has 0 updates":                           {Updates: 0, Examples: 1, Sum: of(1)},
		"the sum has -1 updates":                          {Updates: -1, Examples: 1, Sum: of(1)},
		"the sum has 1048577 updates":                     {Updates: 1<<20 + 1, Examples: 1 << 30, Sum: of(1)},
		"2 updates has 1 examples":                        {Updates: 2, Examples: 1, Sum: of(1)},
		"1 updates has 2199023255552 examples":            {Updates: 1, Examples: 1 << 41, Sum: of(1)},
		"element 0 is 6.806e+38, its weight allows 3.403": {Updates: 1, Examples: 1, Sum: of(2)},
		"0 tensors, expected 1":                           {Updates: 1, Examples: 1},
	} {
		p.Client = "hostile"
		err := root.Merge(t.Context(), p)
		require.ErrorIs(t, err, strategy.ErrQuarantined)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `"hostile"`)
	}
	good := strategy.Partial{Client: "edge", Updates: 1, Examples: 3, Sum: of(3)}
	require.NoError(t, root.Merge(t.Context(), good))
	require.ErrorContains(t, root.Merge(t.Context(), good), "has sent an update in this round")
	made, err := root.Finish(t.Context())
	require.NoError(t, err)
	require.Equal(t, []float64{math.MaxFloat32, 1}, made[0].Float64s())
	require.ErrorIs(t, root.Merge(t.Context(), strategy.Partial{Client: "late", Updates: 1, Examples: 3, Sum: of(3)}),
		strategy.ErrClosed)
}

func TestMerging_Sum_needsAnUpdate(t *testing.T) {
	s, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	none := merging(t, guarded(t, s), strategy.Model{tensor.FromFloat32s([]float32{1})})
	_, err = none.Sum(context.Background())
	require.ErrorIs(t, err, strategy.ErrTooFew)
}
