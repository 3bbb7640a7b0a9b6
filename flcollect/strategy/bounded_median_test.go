package strategy_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// counted is a model with weights and a counter, as batch normalisation has one.
func counted(count int64, weights ...float32) strategy.Model {
	return strategy.Model{tensor.FromFloat32s(weights), tensor.FromInt64s([]int64{count})}
}

// findVerdict returns what became of the update of a client.
func findVerdict(t *testing.T, b *strategy.Bounded, client string) strategy.Verdict {
	t.Helper()
	for _, v := range b.Verdicts() {
		if v.Client == client {
			return v
		}
	}
	require.Fail(t, "no verdict", client)
	return strategy.Verdict{}
}

// around conducts a round from a model, with an update of a weight for each client.
func around(t *testing.T, s strategy.Strategy, base strategy.Model, sent map[string]strategy.Model,
	examples map[string]int64) strategy.Model {
	t.Helper()
	round, err := s.Begin(strategy.Round{Number: 1, Model: base, Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, round.Close()) }()
	for client, model := range sent {
		update := strategy.Update{
			Client:   client,
			Examples: max(1, examples[client]),
			Model:    model,
			Metrics:  map[string]any{"loss": 0.5},
		}
		require.NoError(t, round.Add(t.Context(), update))
	}
	made, err := round.Finish(t.Context())
	require.NoError(t, err)
	return made
}

func TestBounded_leavesCountersOutOfTheNorm(t *testing.T) {
	for _, clip := range []bool{true, false} {
		b := bounded(t, "FedAvg", strategy.Conf{"norm_clip": clip, "norm_factor": 2})
		base := counted(0, 0, 0)
		examples := map[string]int64{"large": 1600, "a": 100, "b": 100, "c": 100, "d": 100}
		for range 5 {
			sent := map[string]strategy.Model{}
			for client, n := range examples { // a counter moves by the batches of the client
				sent[client] = counted(int64(base[1].Float64s()[0])+n, 3, 4)
			}
			base = around(t, b, base, sent, examples)
			for _, v := range b.Verdicts() {
				require.Equal(t, strategy.Kept, v.Outcome)
				require.False(t, v.Far, v.Reason)
				require.InDelta(t, float64(examples[v.Client]), v.Counters, 1e-9)
			}
			base[0] = tensor.FromFloat32s([]float32{0, 0})
		}
	}
}

func TestBounded_hasASeparateBoundForCounters(t *testing.T) {
	const huge = 1 << 50
	sent := map[string]strategy.Model{
		"a": counted(10, 1, 0), "b": counted(20, 0, 1), "c": counted(30, 1, 0), "poison": counted(huge, 0, 1),
	}
	reporting := bounded(t, "FedAvg", strategy.Conf{"norm_clip": false})
	made := around(t, reporting, counted(0, 0, 0), sent, nil)
	require.Equal(t, float64((huge+60)/4), made[1].Float64s()[0])
	v := findVerdict(t, reporting, "poison")
	require.True(t, v.Far)
	require.Equal(t, "its layers of whole numbers moved by 1.126e+15, the bound is 2e+04; it was kept as it was sent",
		v.Reason)
	require.False(t, findVerdict(t, reporting, "c").Far)

	clipping := bounded(t, "FedAvg", nil)
	made = around(t, clipping, counted(0, 0, 0), sent, nil)
	require.Equal(t, []float64{0.5, 0.5}, made[0].Float64s(), "the weights of the update are as they were")
	require.Equal(t, float64((1000*20+60)/4), made[1].Float64s()[0])
	require.Equal(t, strategy.Clipped, findVerdict(t, clipping, "poison").Outcome)

	after := bounded(t, "FedAvg", nil) // a restart
	require.NoError(t, after.Restore(clipping.State()))
	made = around(t, after, counted(0, 0, 0),
		map[string]strategy.Model{"a": counted(0, 1, 0), "poison": counted(huge, 0, 1)}, nil)
	require.Equal(t, 10_000., made[1].Float64s()[0], "the median of the round before is 20")
}

func TestBounded_measuresAModelOfIntegers(t *testing.T) {
	b := bounded(t, "FedAvg", strategy.Conf{"norm_bound": 5})
	zero := strategy.Model{tensor.FromInt64s([]int64{0, 0})}
	made := around(t, b, zero, map[string]strategy.Model{"a": {tensor.FromInt64s([]int64{300, 400})}}, nil)
	require.Equal(t, []float64{3, 4}, made[0].Float64s())
}

func TestBounded_acceptsACohortThatGrowsTogether(t *testing.T) {
	for _, clip := range []bool{true, false} {
		b := bounded(t, "FedAvg", strategy.Conf{"norm_clip": clip, "norm_factor": 10})
		conduct(t, b, map[string][]float32{"a": {1, 0}, "b": {0, 1}, "c": {1, 0}, "d": {0, 1}})
		grown := map[string][]float32{"a": {300, 0}, "b": {0, 310}, "c": {290, 0}, "d": {0, 280}, "attacker": {0, 1e6}}
		conduct(t, b, grown)
		for client := range grown {
			v := findVerdict(t, b, client)
			require.Equal(t, 3000., v.Bound, "ten times the median of this round")
			switch {
			case client != "attacker":
				require.Equal(t, strategy.Kept, v.Outcome)
				require.False(t, v.Far)
			case clip:
				require.Equal(t, strategy.Clipped, v.Outcome)
				require.Equal(t, "its norm is 1e+06, the bound 3000", v.Reason)
			default:
				require.Equal(t, strategy.Kept, v.Outcome)
				require.True(t, v.Far)
				require.Equal(t, "its norm is 1e+06, the bound 3000; it was kept as it was sent", v.Reason)
			}
		}
		conduct(t, b, map[string][]float32{"a": {1, 0}, "b": {0, 1}, "c": {1, 0}, "late": {0, 290}})
		require.Equal(t, strategy.Kept, findVerdict(t, b, "late").Outcome, "as long as all were in the round before")
		require.False(t, findVerdict(t, b, "late").Far)
	}
}

func TestBounded_isTheInnerStrategyWithoutClipping(t *testing.T) {
	plain, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	b := bounded(t, "FedAvg", strategy.Conf{"norm_clip": false, "norm_bound": 1e-3, "norm_factor": 1})
	for round := range 4 {
		sent := map[string][]float32{}
		for k := range 7 {
			sent[fmt.Sprint(k)] = []float32{float32(k*k*k) / 7, float32(round) * 1e5}
		}
		require.Equal(t, conduct(t, plain, sent), conduct(t, b, sent))
	}
	require.True(t, findVerdict(t, b, "6").Far)
}

func TestBounded_quarantinesADeferredUpdateByTheMedianOfItsRound(t *testing.T) {
	b := bounded(t, "FedAvg", strategy.Conf{"norm_factor": 2, "norm_refuse_factor": 10})
	mean := conduct(t, b, map[string][]float32{"a": {1, 0}, "b": {0, 1}, "c": {1, 0}, "mad": {1e6, 0}})
	require.InDeltaSlice(t, []float64{2. / 3, 1. / 3}, mean, 1e-6)
	v := findVerdict(t, b, "mad")
	require.Equal(t, strategy.Refused, v.Outcome)
	require.Contains(t, v.Reason, "its norm is 1e+06, more than 10 times the bound 2")
	require.Equal(t, []float64{1}, b.State()[0].Float64s()[:1])
}

func TestBounded_keepsTheMetricsOfADeferredUpdate(t *testing.T) {
	b := bounded(t, "QFedAvg", nil)
	made := around(t, b, counted(0, 0, 0), map[string]strategy.Model{"a": counted(0, 1, 0), "b": counted(0, 1, 0)}, nil)
	require.False(t, math.IsNaN(made[0].Float64s()[0]), "the loss of the clients is known")
	require.Equal(t, strategy.Kept, findVerdict(t, b, "a").Outcome)
}

func TestBounded_keepsLittleTextOfDeferredUpdates(t *testing.T) {
	b := bounded(t, "FedAvg", nil)
	base := counted(0, 0, 0)
	round, err := b.Begin(strategy.Round{Number: 1, Model: base, Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, round.Close()) }()
	for name, value := range map[string]any{"bytes": make([]byte, 1<<20), "text": string(make([]byte, 1<<20))} {
		metrics := map[string]any{"loss": 0.5, name: value}
		err := round.Add(t.Context(), strategy.Update{Client: name, Examples: 1, Model: counted(1, 1, 0), Metrics: metrics})
		require.ErrorIs(t, err, strategy.ErrQuarantined)
		require.ErrorContains(t, err, "its metrics hold 1048576 bytes of text, and an update that waits for the median")
	}
	metrics := map[string]any{"loss": 0.5, "site": "north"}
	require.NoError(t, round.Add(t.Context(),
		strategy.Update{Client: "text", Examples: 1, Model: counted(1, 1, 0), Metrics: metrics}))
	made, err := round.Finish(t.Context())
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0}, made[0].Float64s())
}

func TestBounded_reportsARefusalOfTheInnerStrategyWithoutClipping(t *testing.T) {
	_, err := strategy.NewBounded(nil, strategy.Conf{"norm_clip": false, "norm_refuse_factor": 2})
	require.ErrorContains(t, err, "norm_refuse_factor: has no meaning where norm_clip is false")
}
