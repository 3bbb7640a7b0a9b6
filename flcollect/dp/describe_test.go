package dp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestParameters_sayWhatTheyMean(t *testing.T) {
	for _, p := range dp.Parameters() {
		require.NotEmpty(t, p.Meaning, p.Name)
		require.Equal(t, p.Name == "num_sampled_clients", p.Required, p.Name)
	}
}

func TestForecast_isWhatTheAccountOfATrainingComesTo(t *testing.T) {
	conf := strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 1.5, "delta": 1e-6}
	e, err := dp.Forecast(conf, 20)
	require.NoError(t, err)
	account, err := dp.NewAccountant(1e-6)
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, account.Spend(1, 1.5, 1))
	}
	spent, _ := account.Epsilon()
	require.InDelta(t, spent, e.Epsilon, 1e-9)
	require.Less(t, e.Round, e.Epsilon)
	require.Equal(t, 1e-6, e.Delta)
	require.Equal(t, 20, e.Affordable)

	conf["epsilon_budget"] = (e.Round + e.Epsilon) / 2
	e, err = dp.Forecast(conf, 20)
	require.NoError(t, err)
	require.Greater(t, e.Affordable, 1)
	require.Less(t, e.Affordable, 20)
	within, err := dp.Forecast(conf, e.Affordable)
	require.NoError(t, err)
	require.LessOrEqual(t, within.Epsilon, conf["epsilon_budget"])
	beyond, err := dp.Forecast(conf, e.Affordable+1)
	require.NoError(t, err)
	require.Greater(t, beyond.Epsilon, conf["epsilon_budget"])

	_, err = dp.Forecast(strategy.Conf{"num_sampled_clients": 3}, 20)
	require.ErrorContains(t, err, "noise_multiplier")
}
