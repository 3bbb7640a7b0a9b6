package jobconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestParse_readsSampling(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 0, `{"sampling":null}`: 0, `{"sampling":{"by":"uniform"}}`: 0,
		`{"sampling":{"by":"speed"}}`: jobconfig.DefaultTiers, `{"sampling":{"by":"speed","tiers":"3"}}`: 3,
	} {
		got, err := jobconfig.Parse(body(t, map[string]string{"server_conf": text}))
		require.NoError(t, err)
		require.Equal(t, want, got.SpeedTiers)
		stored, data, err := got.Stored()
		require.NoError(t, err)
		require.Equal(t, want, stored.SpeedTiers)
		again, err := jobconfig.Parse(data)
		require.NoError(t, err)
		require.Equal(t, want, again.SpeedTiers)
	}
	for text, want := range map[string]string{
		`"speed"`:                    "server_conf.sampling: is not an object",
		`{}`:                         "server_conf.sampling.by: is required",
		`{"by":"age"}`:               `server_conf.sampling.by: is not "uniform" or "speed"`,
		`{"by":"speed","tiers":1}`:   "server_conf.sampling.tiers: is less than 2",
		`{"by":"speed","tiers":101}`: "server_conf.sampling.tiers: is greater than 100",
		`{"by":"uniform","tiers":2}`: "server_conf.sampling.tiers: has no meaning with uniform sampling",
		`{"by":"speed","teirs":2}`:   "server_conf.sampling.teirs: unknown here; there are by, tiers",
	} {
		_, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"sampling":` + text + `}`}))
		require.ErrorContains(t, err, want)
	}
	_, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"sampling":{"by":"speed"},"async":{}}`}))
	require.ErrorContains(t, err, "server_conf.sampling: has no meaning in an asynchronous job")
	_, err = jobconfig.Config{Strategy: "avg", Rounds: 1, SpeedTiers: 3,
		DPAdaptive: strategy.Conf{"num_sampled_clients": 100, "sampling_rate": 0.1}}.Check()
	require.ErrorContains(t, err, "sampling by speed does not go with a sampling_rate of dp-adaptive below 1")
	_, err = jobconfig.Config{Strategy: "avg", Rounds: 1, SpeedTiers: 1}.Check()
	require.ErrorIs(t, err, jobconfig.ErrInvalid)
}

func TestParse_refusesWhatContradictsASamplingRate(t *testing.T) {
	const rate = `{"dp-adaptive":{"num_sampled_clients":100,"sampling_rate":"0.1"}}`
	for part, c := range map[string]struct{ text, want string }{
		"strategy_conf": {`{"fraction_fit":1,"min_fit_clients":2,"min_available_clients":9}`,
			"strategy_conf.fraction_fit: has no meaning with a sampling_rate of dp-adaptive below 1"},
		"privacy-mechanisms": {`{"homomorphic":{},"dp-adaptive":{"num_sampled_clients":100,"sampling_rate":0.1}}`,
			"privacy-mechanisms.dp-adaptive.sampling_rate: below 1 does not go with homomorphic"},
	} {
		given := map[string]string{"privacy-mechanisms": rate}
		given[part] = c.text
		_, err := jobconfig.Parse(body(t, given))
		require.ErrorContains(t, err, c.want)
	}
	_, err := jobconfig.Parse(body(t, map[string]string{"strategy_conf": `{"min_fit_clients":2}`, "privacy-mechanisms": rate}))
	require.ErrorContains(t, err, "strategy_conf.min_fit_clients: has no meaning")
	_, err = jobconfig.Parse(body(t, map[string]string{"privacy-mechanisms": `{"dp-adaptive":{"num_sampled_clients":100,` +
		`"sampling_rate":0.1,"server_side_noising":false}}`}))
	require.ErrorContains(t, err, "privacy-mechanisms.dp-adaptive.sampling_rate: 0.1 needs server_side_noising")
	_, err = jobconfig.Parse(body(t, map[string]string{"strategy_conf": `{"min_available_clients":9}`, "privacy-mechanisms": rate}))
	require.NoError(t, err)
	_, err = jobconfig.Config{Strategy: "avg", Rounds: 1, StrategyConf: strategy.Conf{"fraction_fit": 0.1},
		DPAdaptive: strategy.Conf{"num_sampled_clients": 100, "sampling_rate": 0.1}}.Check()
	require.ErrorContains(t, err, "fraction_fit")
}
