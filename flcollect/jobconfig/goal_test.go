package jobconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
)

func TestParse_readsTargetsThatFall(t *testing.T) {
	got, err := jobconfig.Parse(body(t, map[string]string{"stopping_flag": "true",
		"stopping_target": `{"accuracy":"0.9","loss":{"below":"0.1","patience":"3"},"f1":{"above":0.5,"patience":null}}`}))
	require.NoError(t, err)
	below, above := 0.1, 0.5
	require.Equal(t, map[string]float64{"accuracy": 0.9}, got.Targets)
	require.Equal(t, map[string]jobconfig.Goal{"loss": {Below: &below, Patience: 3}, "f1": {Above: &above}}, got.Goals)
	stored, data, err := got.Stored()
	require.NoError(t, err)
	require.Equal(t, got.Goals, stored.Goals)
	require.Equal(t, got.Targets, stored.Targets)
	again, err := jobconfig.Parse(data)
	require.NoError(t, err)
	require.Equal(t, got.Goals, again.Goals)
	require.True(t, stored.Same(data))

	for target, want := range map[string]string{
		`{"loss":0.1}`:                            `stopping_target.loss: is reached by rising, and a loss falls: give {"below": NUMBER}`,
		`{"loss":{}}`:                             "stopping_target.loss: needs one of below and above",
		`{"loss":{"below":1,"above":1}}`:          "stopping_target.loss: needs one of below and above",
		`{"loss":{"below":1,"patience":0}}`:       "stopping_target.loss.patience: is less than 1",
		`{"loss":{"below":1,"patients":3}}`:       "stopping_target.loss.patients: unknown here; there are above, below, patience",
		`{"loss":{"below":"little"}}`:             "stopping_target.loss.below: is not a number",
		`{"loss":[1]}`:                            "stopping_target.loss: is reached by rising",
		`{"accuracy":{"below":1,"patience":1.5}}`: "stopping_target.accuracy.patience: is not a whole number",
	} {
		_, err := jobconfig.Parse(body(t, map[string]string{"stopping_flag": "true", "stopping_target": target}))
		require.ErrorContains(t, err, want, target)
	}
	_, err = jobconfig.Parse(body(t, map[string]string{"stopping_target": `{"loss":0.1}`}))
	require.NoError(t, err, "a target has no effect without stopping_flag")
}

func TestConfig_Check_refusesTargetsThatCannotBeReached(t *testing.T) {
	one := 1.0
	for name, change := range map[string]func(*jobconfig.Config){
		"loss":  func(c *jobconfig.Config) { c.Targets = map[string]float64{"loss": 1} },
		"below": func(c *jobconfig.Config) { c.Goals = map[string]jobconfig.Goal{"a": {}} },
		"twice": func(c *jobconfig.Config) {
			c.Targets, c.Goals = map[string]float64{"a": 1}, map[string]jobconfig.Goal{"a": {Below: &one}}
		},
		"patience": func(c *jobconfig.Config) { c.Goals = map[string]jobconfig.Goal{"a": {Below: &one, Patience: -1}} },
	} {
		c := jobconfig.Config{Strategy: "avg", Rounds: 1, Stopping: true}
		change(&c)
		_, err := c.Check()
		require.ErrorIs(t, err, jobconfig.ErrInvalid)
		require.ErrorContains(t, err, name)
	}
}

func TestParse_refusesKeysWithoutAMeaning(t *testing.T) {
	all := faults(t, body(t, map[string]string{"privacy_mechanisms": `{"dp-adaptive":{"num_sampled_clients":9}}`,
		"server_conf": `{"num_round":3,"round_timeout":1}`, "comment": `null`}))
	require.Len(t, all, 2, "null is not given")
	require.Contains(t, all[0].String(), "server_conf.num_round: unknown here; there are async, compression, local_layers, num_rounds, ")
	require.Contains(t, all[1].String(), "privacy_mechanisms: unknown here; there are adapt_conf, adapt_config, app, client_conf, ")
}
