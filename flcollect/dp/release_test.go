package dp_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// train lets a strategy make the model of a round.
func train(t *testing.T, private *dp.Adaptive, number int) {
	t.Helper()
	aggregation := begin(t, private, number, model(0, 0))
	require.NoError(t, aggregation.Add(t.Context(), answer("a", true, 0, 0)))
	finish(t, aggregation)
}

func TestAdaptive_chargesAReleaseThatTheStateLacksAfterARestart(t *testing.T) {
	conf := strategy.Conf{"num_sampled_clients": 100}
	before := wrap(t, "FedAvg", nil, conf)
	train(t, before, 1)
	checkpoint := before.State()
	train(t, before, 2)
	p := before.Privacy()
	noted := p.Rounds + p.Charged // and then the clients saw the model, and the server died

	after := wrap(t, "FedAvg", nil, conf)
	require.NoError(t, after.Restore(checkpoint))
	clip := after.Privacy().ClipNorm
	p = after.Privacy()
	require.NoError(t, after.Charge(noted-p.Rounds-p.Charged))
	require.Equal(t, before.Privacy().Epsilon, after.Privacy().Epsilon)
	require.Equal(t, clip, after.Privacy().ClipNorm, "the clip norm is that of the state")
	train(t, after, 2)
	p = after.Privacy()
	require.Equal(t, 2, p.Rounds)
	require.Equal(t, 1, p.Charged)
	epsilon, _ := spent(t, 1, 1, 3, 1e-5)
	require.InDelta(t, epsilon, p.Epsilon, 1e-9)

	again := wrap(t, "FedAvg", nil, conf)
	require.NoError(t, again.Restore(after.State()))
	require.InDelta(t, p.Epsilon, again.Privacy().Epsilon, 1e-9)
	require.Equal(t, 1, again.Privacy().Charged)
	require.Equal(t, after.State(), again.State())
}

func TestAdaptive_stopsAfterChargesBeyondTheBudget(t *testing.T) {
	private := wrap(t, "FedAvg", nil,
		strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2, "epsilon_budget": 2.5})
	require.True(t, private.Affords(1))
	require.NoError(t, private.Charge(0))
	require.True(t, private.Affords(1))
	require.NoError(t, private.Charge(2))
	require.Greater(t, private.Privacy().Epsilon, 2.5)
	require.False(t, private.Affords(1))
	_, err := private.Begin(strategy.Round{Number: 1, Model: model(0)})
	require.ErrorIs(t, err, dp.ErrBudget)
}

func TestAdaptive_refusesInvalidCharges(t *testing.T) {
	private := wrap(t, "FedAvg", nil, strategy.Conf{"num_sampled_clients": 100})
	require.NoError(t, private.Charge(7))
	epsilon := private.Privacy().Epsilon
	for _, releases := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt32 - 6} {
		require.ErrorContains(t, private.Charge(releases), "charge dp-adaptive: ")
		require.Equal(t, 7, private.Privacy().Charged)
		require.Equal(t, epsilon, private.Privacy().Epsilon)
	}
}

// sampled are settings with a draw at a rate, and with noise that can hardly be seen.
func sampled() strategy.Conf {
	return strategy.Conf{"num_sampled_clients": 4, "sampling_rate": 0.5, "noise_multiplier": 1e-9, "init_clip_norm": 1,
		"clip_count_stddev": 1e-6, "clip_norm_lr": 1}
}

// How many clients were drawn is as secret as their updates: the divisor is public.
func TestAdaptive_withASamplingRate_dividesByTheExpectedNumber(t *testing.T) {
	for clients, want := range map[int]struct{ mean, fraction float64 }{0: {2, 0.5}, 1: {2.1, 0.625}, 6: {2.6, 1.25}} {
		private := wrap(t, "FedAvg", nil, sampled())
		policy := private.Policy()
		require.Equal(t, strategy.Rule{Fraction: 0.5, Rate: 0.5, RefuseFailures: true}, policy.Fit)
		require.NoError(t, policy.Accept(strategy.Fit, 0, 0))
		require.ErrorIs(t, policy.Accept(strategy.Fit, 0, 1), strategy.ErrTooFew)
		aggregation, err := private.Begin(strategy.Round{Number: 1, Model: strategy.Model{tensor.FromFloat64s([]float64{2})}})
		require.NoError(t, err)
		for i := range clients {
			require.NoError(t, aggregation.Add(t.Context(), strategy.Update{Client: string(rune('a' + i)), Examples: 5,
				Model:   strategy.Model{tensor.FromFloat64s([]float64{2.4})},
				Metrics: map[string]any{"dpfedavg_norm_bit": true}}))
		}
		made, err := aggregation.Finish(t.Context())
		require.NoError(t, err)
		require.InDelta(t, want.mean, made[0].Float64s()[0], 1e-7, "%d clients", clients)
		require.InDelta(t, want.fraction, private.Privacy().Fraction, 1e-5)
		require.InDelta(t, math.Exp(0.5-want.fraction), private.Privacy().ClipNorm, 1e-5)
	}
}

func TestAdaptive_Restore_countsRoundsOfUnknownDrawsInFull(t *testing.T) {
	conf := strategy.Conf{"num_sampled_clients": 100, "sampling_rate": 0.01}
	private := wrap(t, "FedAvg", nil, conf)
	before := tensor.FromFloat64s([]float64{0.1, 3, 0.5, 1})
	require.NoError(t, private.Restore([]tensor.Tensor{before}))
	full, _ := spent(t, 1, 1, 4, 1e-5)
	require.InDelta(t, full, private.Privacy().Epsilon, 0.1*full, "a bound that holds with sampled rounds too")
	require.GreaterOrEqual(t, private.Privacy().Epsilon, full)
	require.NoError(t, private.Charge(1))
	more, _ := spent(t, 1, 1, 5, 1e-5)
	require.GreaterOrEqual(t, private.Privacy().Epsilon, more)

	again := wrap(t, "FedAvg", nil, conf)
	require.NoError(t, again.Restore(private.State()))
	require.Equal(t, private.Privacy().Epsilon, again.Privacy().Epsilon)
	require.NoError(t, again.Charge(1))
	require.Less(t, again.Privacy().Epsilon, more+1.5, "from here on the draw is known")
	require.ErrorContains(t, again.Restore([]tensor.Tensor{tensor.FromFloat64s([]float64{0.1, 3, 0.5, 1, 5})}), "without sampling")
}
