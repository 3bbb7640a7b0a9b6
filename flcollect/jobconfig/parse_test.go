package jobconfig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// body is a configuration with nothing but what is required; changes replace
// members by JSON, and remove them where it is empty.
func body(t testing.TB, changes map[string]string) []byte {
	t.Helper()
	members := map[string]json.RawMessage{
		"strategy":           json.RawMessage(`"avg"`),
		"model_name":         json.RawMessage(`"keras"`),
		"model_version":      json.RawMessage(`"1"`),
		"server_conf":        json.RawMessage(`{}`),
		"strategy_conf":      json.RawMessage(`{}`),
		"client_conf":        json.RawMessage(`[{"epochs":1}]`),
		"privacy-mechanisms": json.RawMessage(`{}`),
		"configuration_id":   json.RawMessage(`10`),
	}
	for name, value := range changes {
		members[name] = json.RawMessage(value)
		if value == "" {
			delete(members, name)
		}
	}
	data, err := json.Marshal(members)
	require.NoError(t, err)
	return data
}

func TestParse_fillsInDefaults(t *testing.T) {
	got, err := jobconfig.Parse(body(t, nil))
	require.NoError(t, err)
	require.Equal(t, jobconfig.Config{
		Strategy:        "avg",
		ModelName:       "keras",
		ModelVersion:    "1",
		Rounds:          1,
		ClientConf:      []map[string]any{{"epochs": int64(1), "batch_size": int64(32), "steps_per_epoch": int64(3), "learning_rate": 0.05}},
		ConfigurationID: "10",
	}, got)
}

func TestParse_readsNumbersAsTextOrNot(t *testing.T) {
	const text = `{
		"strategy": "FaultTolerantFedAvg", "model_name": "keras", "model_version": "0.1", "adapt_config": "custom",
		"server_conf": {"num_rounds": %[1]s20%[1]s, "round_timeout": %[1]s2.5%[1]s},
		"strategy_conf": {"min_fit_clients": %[1]s2%[1]s, "fraction_fit": %[1]s0.5%[1]s, "eta": null, "min_available_clients": %[1]s3%[1]s},
		"client_conf": [
			{"config_id": "a", "epochs": %[1]s4%[1]s, "batch_size": %[1]s64%[1]s, "steps_per_epoch": %[1]s32%[1]s, "learning_rate": %[1]s0.1%[1]s},
			{"epochs": %[1]s1%[1]s}
		],
		"privacy-mechanisms": {}, "configuration_id": %[1]s10%[1]s,
		"stopping_flag": %[1]strue%[1]s, "stopping_target": {"accuracy": %[1]s0.9%[1]s}, "something": null
	}`
	for _, quote := range []string{``, `"`} {
		got, err := jobconfig.Parse(fmt.Appendf(nil, text, quote))
		require.NoError(t, err)
		require.Equal(t, jobconfig.Config{
			Strategy: "FaultTolerantFedAvg", ModelName: "keras", ModelVersion: "0.1", AdaptConfig: "custom",
			Rounds: 20, RoundTimeout: 2500 * time.Millisecond,
			StrategyConf: strategy.Conf{"min_fit_clients": int64(2), "fraction_fit": 0.5, "min_available_clients": int64(3)},
			ClientConf: []map[string]any{
				{"config_id": "a", "epochs": int64(4), "batch_size": int64(64), "steps_per_epoch": int64(32), "learning_rate": 0.1},
				{"epochs": int64(1), "batch_size": int64(32), "steps_per_epoch": int64(3), "learning_rate": 0.05},
			},
			ConfigurationID: "10", Stopping: true, Targets: map[string]float64{"accuracy": 0.9},
		}, got)
	}
}

func TestParse_acceptsWhatClientsSend(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes map[string]string
		want    func(*jobconfig.Config)
	}{
		{"the other name of adapt_config", map[string]string{"adapt_conf": `"x"`}, func(c *jobconfig.Config) { c.AdaptConfig = "x" }},
		{"adapt_config before adapt_conf", map[string]string{"adapt_conf": `"x"`, "adapt_config": `"y"`},
			func(c *jobconfig.Config) { c.AdaptConfig = "y" }},
		{"adapt_config of null", map[string]string{"adapt_config": `null`}, nil},
		{"a truth value as adapt_config", map[string]string{"adapt_config": `false`}, func(c *jobconfig.Config) { c.AdaptConfig = "False" }},
		{"no round_timeout", map[string]string{"server_conf": `{"round_timeout":false}`}, nil},
		{"round_timeout to the nanosecond", map[string]string{"server_conf": `{"round_timeout":"31535999.999999999"}`},
			func(c *jobconfig.Config) {
				c.RoundTimeout = 365*24*time.Hour - 1
			}},
		{"num_rounds and round_timeout of null", map[string]string{"server_conf": `{"num_rounds":null,"round_timeout":null}`}, nil},
		{"round_timeout of zero", map[string]string{"server_conf": `{"round_timeout":0}`}, nil},
		{"round_timeout of next to nothing", map[string]string{"server_conf": `{"round_timeout":1e-30}`},
			func(c *jobconfig.Config) { c.RoundTimeout = 1 }},
		{"whole numbers in other forms", map[string]string{"server_conf": `{"num_rounds":" 3.0 "}`}, func(c *jobconfig.Config) { c.Rounds = 3 }},
		{"exponents", map[string]string{"server_conf": `{"num_rounds":1e3}`}, func(c *jobconfig.Config) { c.Rounds = 1000 }},
		{"most rounds", map[string]string{"server_conf": `{"num_rounds":1000000}`}, func(c *jobconfig.Config) { c.Rounds = jobconfig.MaxRounds }},
		{"digits as configuration_id", map[string]string{"configuration_id": `" 012 "`}, func(c *jobconfig.Config) { c.ConfigurationID = "12" }},
		{"a negative configuration_id", map[string]string{"configuration_id": `-1`}, func(c *jobconfig.Config) { c.ConfigurationID = "-1" }},
		{"a number as model_version", map[string]string{"model_version": `0.10`}, func(c *jobconfig.Config) { c.ModelVersion = "0.10" }},
		{"one as a truth value", map[string]string{"stopping_flag": `1`}, func(c *jobconfig.Config) { c.Stopping = true }},
		{"off as a truth value", map[string]string{"stopping_flag": `"Off"`}, nil},
		{"stopping_target of null", map[string]string{"stopping_target": `null`}, nil},
		{"no settings for clients", map[string]string{"client_conf": `[]`}, func(c *jobconfig.Config) { c.ClientConf = nil }},
		{
			"further settings for clients, with their types",
			map[string]string{"client_conf": `[{"epochs":1,"a":2,"b":2.0,"c":"2","d":true,"e":null,"f":[1],"g":{}}]`},
			func(c *jobconfig.Config) {
				c.ClientConf[0]["a"], c.ClientConf[0]["b"], c.ClientConf[0]["c"], c.ClientConf[0]["d"] = int64(2), 2.0, "2", true
			},
		},
		{"parameters of a strategy that is not built in",
			map[string]string{"strategy": `"mine"`, "strategy_conf": `{"alpha":1,"beta":"x"}`}, func(c *jobconfig.Config) {
				c.Strategy, c.StrategyConf = "mine", strategy.Conf{"alpha": int64(1), "beta": "x"}
			}},
		{"parameters beyond the specification that a strategy has",
			map[string]string{"strategy": `"FedProx"`, "strategy_conf": `{"proximal_mu":"0.5"}`}, func(c *jobconfig.Config) {
				c.Strategy, c.StrategyConf = "FedProx", strategy.Conf{"proximal_mu": "0.5"}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := jobconfig.Parse(body(t, nil))
			require.NoError(t, err)
			if c.want != nil {
				c.want(&want)
			}
			got, err := jobconfig.Parse(body(t, c.changes))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestParse_takesTheLastOfTwoEqualKeys(t *testing.T) {
	first := strings.Replace(string(body(t, nil)), "{", `{"strategy":7,"server_conf":{"num_rounds":2},`, 1)
	got, err := jobconfig.Parse([]byte("\uFEFF " + first + "\n"))
	require.NoError(t, err)
	require.Equal(t, "avg", got.Strategy)
	require.Equal(t, 1, got.Rounds)
}

func TestError_namesTheFirstFaultAndCountsTheOthers(t *testing.T) {
	_, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"num_rounds":"x"}`, "client_conf": `[{}]`}))
	require.EqualError(t, err, "read job configuration: server_conf.num_rounds: is not a whole number (and 1 more)")
}

func TestConfig_UnmarshalJSON_readsWhatMarshalJSONWrote(t *testing.T) {
	for name, config := range map[string]jobconfig.Config{
		"zero": {},
		"whole": {
			Strategy: "mine", ModelName: "m", ModelVersion: "1", AdaptConfig: "x", Rounds: 7, RoundTimeout: 1<<63 - 1,
			StrategyConf:    strategy.Conf{"a": 2.0, "b": int64(2), "c": "2", "d": true, "e": 1e21, "f": 1e-9},
			ClientConf:      []map[string]any{{"x": 1.0, "y": int64(1)}, nil},
			ConfigurationID: "c", Stopping: true, Targets: map[string]float64{"accuracy": 1},
		},
	} {
		data, err := json.Marshal(config)
		require.NoError(t, err, name)
		var got jobconfig.Config
		require.NoError(t, json.Unmarshal(data, &got), name)
		require.Equal(t, config, got, string(data))
	}
	_, err := json.Marshal(jobconfig.Config{StrategyConf: strategy.Conf{"eta": math.NaN()}})
	require.ErrorContains(t, err, "not finite")
	for _, damaged := range []string{
		`{"server_conf":1}`, `{"server_conf":{"round_timeout":-1}}`, `{"server_conf":{"round_timeout":1e300}}`,
		`{"server_conf":{"round_timeout":"1"}}`,
		`{"strategy_conf":{"a":[1]}}`, `{"strategy_conf":{"a":null}}`, `{"client_conf":[{"a":1e999}]}`,
		`{"client_conf":[{"a":99999999999999999999}]}`,
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(damaged), &jobconfig.Config{}), "read stored configuration: ", damaged)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(body(f, nil))
	f.Add(body(f, map[string]string{"strategy": `"mine"`, "strategy_conf": `{"a":1.0,"b":"x","eta":"2"}`, "stopping_target": `{"a":1e300}`}))
	f.Add(body(f, map[string]string{"client_conf": `[{"epochs":"1","z":-0.0,"y":1e21,"x":true}]`,
		"server_conf": `{"num_rounds":"2","round_timeout":0.1}`}))
	f.Add(body(f, map[string]string{
		"privacy-mechanisms": `{"homomorphic":{"coeff_mod_bit_sizes":["60",40,60]},"dp-adaptive":` + sampleDP + `}`,
	}))
	f.Add(body(f, map[string]string{"app": `"acme/vision==1.0"`, "server_conf": `{"records":"fitins"}`}))
	f.Add([]byte("{\"\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := jobconfig.Parse(text)
		if err != nil {
			var faults *jobconfig.Error
			require.True(t, errors.As(err, &faults))
			require.NotEmpty(t, faults.Faults)
			require.LessOrEqual(t, len(faults.Faults), 100)
			_, err = json.Marshal(faults.Faults)
			require.NoError(t, err)
			return
		}
		data, err := json.Marshal(config)
		require.NoError(t, err)
		again, err := jobconfig.Parse(data)
		require.NoError(t, err)
		require.Equal(t, config, again)
		var stored jobconfig.Config
		require.NoError(t, json.Unmarshal(data, &stored))
		require.Equal(t, config, stored)
	})
}
