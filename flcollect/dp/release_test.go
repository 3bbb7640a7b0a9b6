package dp_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
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
		strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2, "epsilon_budget": 3})
	require.True(t, private.Affords(1))
	require.NoError(t, private.Charge(0))
	require.True(t, private.Affords(1))
	require.NoError(t, private.Charge(2))
	require.Greater(t, private.Privacy().Epsilon, 3.)
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
