package strategy_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/strategytest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func bounded(t *testing.T, inner string, conf strategy.Conf) *strategy.Bounded {
	t.Helper()
	made, err := strategy.New(inner, nil)
	require.NoError(t, err)
	b, err := strategy.NewBounded(made, conf)
	require.NoError(t, err)
	return b
}

func TestBounded_conforms(t *testing.T) {
	for _, inner := range []string{"FedAvg", "FedAdam", "FedMedian"} {
		for name, conf := range map[string]strategy.Conf{
			"by medians": nil, "by a bound": {"norm_bound": 100, "norm_factor": 1}, "reporting": {"norm_clip": false},
		} {
			t.Run(inner+" "+name, func(t *testing.T) {
				strategytest.Run(t, func() strategy.Strategy { return bounded(t, inner, conf) })
			})
		}
	}
}

// conduct runs a round that begins with zeros, by clients with the given updates.
func conduct(t *testing.T, s strategy.Strategy, sent map[string][]float32) []float64 {
	t.Helper()
	round, err := s.Begin(strategy.Round{Number: 1, Model: model(0, 0)})
	require.NoError(t, err)
	defer func() { require.NoError(t, round.Close()) }()
	for client, values := range sent {
		err := round.Add(t.Context(), strategy.Update{Client: client, Examples: 1, Model: model(values...)})
		require.True(t, err == nil || client[0] == '!', "%v", err)
	}
	made, err := round.Finish(t.Context())
	require.NoError(t, err)
	return made[0].Float64s()
}

func TestBounded_scalesALargeUpdateAndReportsIt(t *testing.T) {
	b := bounded(t, "FedAvg", strategy.Conf{"norm_bound": 5, "norm_refuse_factor": 100})
	nan := float32(math.NaN())
	mean := conduct(t, b,
		map[string][]float32{"honest": {1, -2}, "boosted": {30, 40}, "!mad": {3e5, 4e5}, "!nan": {nan, 0}})
	require.InDeltaSlice(t, []float64{(1. + 3) / 2, (-2. + 4) / 2}, mean, 1e-6)

	var text []string
	for _, v := range b.Verdicts() {
		text = append(text, fmt.Sprintf("%s %v %.3g of %v: %s", v.Client, v.Outcome, v.Norm, v.Bound, v.Reason))
	}
	require.Equal(t, []string{
		`!mad refused 5e+05 of 5: add update of "!mad": strategy: update quarantined: its norm is 5e+05, more than ` +
			`100 times the bound 5`,
		`!nan refused NaN of 5: add update of "!nan": strategy: update quarantined: tensor 0: element 0 is NaN`,
		`boosted clipped 50 of 5: its norm is 50, the bound 5`,
		`honest kept 2.24 of 5: `,
	}, text)
}

func TestBounded_boundsByTheMedianOfTheRoundBefore(t *testing.T) {
	b := bounded(t, "FedAvg", strategy.Conf{"norm_factor": 2})
	conduct(t, b, map[string][]float32{"a": {1, 0}, "b": {0, 2}, "c": {3, 0}, "d": {0, 4}, "attacker": {1e6, 0}})
	require.Equal(t, strategy.Clipped, b.Verdicts()[1].Outcome, "the first round has a median, too")
	require.Equal(t, 6., b.Verdicts()[1].Bound)

	after := bounded(t, "FedAvg", strategy.Conf{"norm_factor": 2}) // a restart
	require.NoError(t, after.Restore(b.State()))
	mean := conduct(t, after, map[string][]float32{"a": {0, 0}, "attacker": {1e6, 0}})
	require.InDeltaSlice(t, []float64{6. / 2, 0}, mean, 1e-5, "twice the median, 3")
}

func TestBounded_ignoresQuarantinedUpdatesInTheMedian(t *testing.T) {
	b := bounded(t, "FedAvg", strategy.Conf{"norm_bound": 5, "norm_refuse_factor": 2})
	nan := float32(math.NaN())
	conduct(t, b, map[string][]float32{"a": {1, 0}, "!x": {100, 0}, "!y": {0, 100}, "!z": {nan, 0}})
	require.Equal(t, []float64{1}, b.State()[0].Float64s())
}

func TestBounded_hasNoBoundWithoutAMedian(t *testing.T) {
	b := bounded(t, "FedAvg", nil)
	conduct(t, b, map[string][]float32{"a": {0, 0}, "b": {0, 0}})
	require.Equal(t, []float64{8, 0}, conduct(t, b, map[string][]float32{"a": {8, 0}, "b": {8, 0}}))
}

func TestNewBounded_namesBoundsOutOfRange(t *testing.T) {
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	for field, value := range map[string]any{"norm_bound": 0, "norm_factor": 0.5, "norm_refuse_factor": "x", "beta": 1} {
		_, err := strategy.NewBounded(fedAvg, strategy.Conf{field: value})
		var wrong *strategy.FieldError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, field, wrong.Field)
	}
}

func TestBounded_Restore_refusesAMedianOfAnotherModel(t *testing.T) {
	b := bounded(t, "FedAvg", nil)
	for _, state := range []tensor.Tensor{
		tensor.FromFloat64s([]float64{math.NaN()}), tensor.FromFloat64s([]float64{-1}),
		tensor.FromFloat64s([]float64{math.Inf(1)}), tensor.FromFloat64s([]float64{1, 2, 3}),
		tensor.FromFloat64s([]float64{1, -1}), tensor.FromFloat32s([]float32{1}),
	} {
		require.ErrorContains(t, b.Restore([]tensor.Tensor{state}), "restore norm-bounding")
	}
	require.NoError(t, b.Restore(nil))
}

func TestBounded_keepsTheMedianAfterARoundOfFewUpdates(t *testing.T) {
	b := bounded(t, "FedAvg", strategy.Conf{"norm_factor": 2, "norm_min_updates": 3})
	conduct(t, b, map[string][]float32{"a": {9, 0}, "b": {0, 9}})
	require.Equal(t, []float64{0}, b.State()[0].Float64s())
	conduct(t, b, map[string][]float32{"a": {1, 0}, "b": {0, 2}, "c": {3, 0}})
	conduct(t, b, map[string][]float32{"a": {0.5, 0}, "b": {0.5, 0}})
	require.Equal(t, []float64{2}, b.State()[0].Float64s())
}

func TestBounded_measuresEveryTypeAndLengthAlike(t *testing.T) {
	for _, length := range []int{1, 3, 4, 4095, 4096, 4097, 10_001} {
		values, wide := make([]float32, length), make([]float64, length)
		want := 0.0
		for i := range values {
			values[i] = float32(i%17) - 8
			wide[i] = float64(values[i])
			want += wide[i] * wide[i]
		}
		for _, sent := range []tensor.Tensor{tensor.FromFloat32s(values), tensor.FromFloat64s(wide)} {
			b := bounded(t, "FedAvg", nil)
			zero, err := tensor.New(sent.DType(), sent.Shape(), make([]byte, sent.Size()))
			require.NoError(t, err)
			round, err := b.Begin(strategy.Round{Number: 1, Model: strategy.Model{zero}})
			require.NoError(t, err)
			require.NoError(t, round.Add(t.Context(), strategy.Update{Client: "c", Examples: 1, Model: strategy.Model{sent}}))
			require.InEpsilon(t, math.Sqrt(want), b.Verdicts()[0].Norm, 1e-14)
			require.NoError(t, round.Close())
		}
	}
}

func TestTakeBounds_splitsAConf(t *testing.T) {
	conf := strategy.Conf{
		"eta":                1,
		"norm_bound":         2,
		"norm_factor":        3,
		"norm_min_updates":   4,
		"norm_refuse_factor": 5,
		"norm_clip":          true,
		"norm_taper":         true,
	}
	bounds, rest := strategy.TakeBounds(conf)
	require.Equal(t, strategy.Conf{"eta": 1}, rest)
	require.Len(t, bounds, 6)
	require.Len(t, conf, 7)
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	_, err = strategy.NewBounded(fedAvg, bounds)
	require.NoError(t, err, "it has all of its fields")
	bounds, rest = strategy.TakeBounds(nil)
	require.Nil(t, bounds)
	require.Nil(t, rest)
}

func TestBounded_countsAnUpdateLessTheFurtherItLies(t *testing.T) {
	for far, share := range map[float32]float64{2: 2, 3: 3, 6: 1.5, 300: 0.03, 3e20: 0} {
		b := bounded(t, "FedAvg", strategy.Conf{"norm_taper": true})
		mean := conduct(t, b, map[string][]float32{"a": {1, 0}, "b": {1, 0}, "c": {1, 0}, "far": {0, far}})
		require.InDeltaSlice(t, []float64{0.75, share / 4}, mean, 1e-6, "%v", far)
		outcome := strategy.Kept
		if far > 3 {
			outcome = strategy.Clipped
		}
		require.Equal(t, outcome, findVerdict(t, b, "far").Outcome)
	}
}
