package flcollect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
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

func TestASmallConfigurationGetsTheDefaults(t *testing.T) {
	got, err := flcollect.ParseConfig(body(t, nil))
	require.NoError(t, err)
	require.Equal(t, flcollect.Config{
		Strategy:        "avg",
		ModelName:       "keras",
		ModelVersion:    "1",
		Rounds:          1,
		ClientConf:      []map[string]any{{"epochs": int64(1), "batch_size": int64(32), "steps_per_epoch": int64(3), "learning_rate": 0.05}},
		ConfigurationID: "10",
	}, got)
}

func TestAWholeConfigurationIsReadWithNumbersAsTextOrNot(t *testing.T) {
	const text = `{
		"strategy": "FaultTolerantFedAvg", "model_name": "keras", "model_version": "0.1", "adapt_config": "custom",
		"server_conf": {"num_rounds": %[1]s20%[1]s, "round_timeout": %[1]s2.5%[1]s},
		"strategy_conf": {"min_fit_clients": %[1]s2%[1]s, "fraction_fit": %[1]s0.5%[1]s, "eta": null, "min_available_clients": %[1]s3%[1]s},
		"client_conf": [
			{"config_id": "a", "epochs": %[1]s4%[1]s, "batch_size": %[1]s64%[1]s, "steps_per_epoch": %[1]s32%[1]s, "learning_rate": %[1]s0.1%[1]s},
			{"epochs": %[1]s1%[1]s}
		],
		"privacy-mechanisms": {}, "configuration_id": %[1]s10%[1]s,
		"stopping_flag": %[1]strue%[1]s, "stopping_target": {"accuracy": %[1]s0.9%[1]s}, "something": [[]]
	}`
	for _, quote := range []string{``, `"`} {
		got, err := flcollect.ParseConfig(fmt.Appendf(nil, text, quote))
		require.NoError(t, err)
		require.Equal(t, flcollect.Config{
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

func TestConfigurationsThatAreAccepted(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes map[string]string
		want    func(*flcollect.Config)
	}{
		{"the other name of adapt_config", map[string]string{"adapt_conf": `"x"`}, func(c *flcollect.Config) { c.AdaptConfig = "x" }},
		{"adapt_config before adapt_conf", map[string]string{"adapt_conf": `"x"`, "adapt_config": `"y"`}, func(c *flcollect.Config) { c.AdaptConfig = "y" }},
		{"adapt_config of null", map[string]string{"adapt_config": `null`}, nil},
		{"a truth value as adapt_config", map[string]string{"adapt_config": `false`}, func(c *flcollect.Config) { c.AdaptConfig = "False" }},
		{"no round_timeout", map[string]string{"server_conf": `{"round_timeout":false}`}, nil},
		{"round_timeout to the nanosecond", map[string]string{"server_conf": `{"round_timeout":"31535999.999999999"}`}, func(c *flcollect.Config) {
			c.RoundTimeout = 365*24*time.Hour - 1
		}},
		{"num_rounds and round_timeout of null", map[string]string{"server_conf": `{"num_rounds":null,"round_timeout":null}`}, nil},
		{"round_timeout of zero", map[string]string{"server_conf": `{"round_timeout":0}`}, nil},
		{"round_timeout of next to nothing", map[string]string{"server_conf": `{"round_timeout":1e-30}`}, func(c *flcollect.Config) { c.RoundTimeout = 1 }},
		{"whole numbers in other forms", map[string]string{"server_conf": `{"num_rounds":" 3.0 "}`}, func(c *flcollect.Config) { c.Rounds = 3 }},
		{"exponents", map[string]string{"server_conf": `{"num_rounds":1e3}`}, func(c *flcollect.Config) { c.Rounds = 1000 }},
		{"most rounds", map[string]string{"server_conf": `{"num_rounds":1000000}`}, func(c *flcollect.Config) { c.Rounds = flcollect.MaxRounds }},
		{"digits as configuration_id", map[string]string{"configuration_id": `" 012 "`}, func(c *flcollect.Config) { c.ConfigurationID = "12" }},
		{"a negative configuration_id", map[string]string{"configuration_id": `-1`}, func(c *flcollect.Config) { c.ConfigurationID = "-1" }},
		{"a number as model_version", map[string]string{"model_version": `0.10`}, func(c *flcollect.Config) { c.ModelVersion = "0.10" }},
		{"one as a truth value", map[string]string{"stopping_flag": `1`}, func(c *flcollect.Config) { c.Stopping = true }},
		{"off as a truth value", map[string]string{"stopping_flag": `"Off"`}, nil},
		{"stopping_target of null", map[string]string{"stopping_target": `null`}, nil},
		{"no settings for clients", map[string]string{"client_conf": `[]`}, func(c *flcollect.Config) { c.ClientConf = nil }},
		{
			"further settings for clients, with their types", map[string]string{"client_conf": `[{"epochs":1,"a":2,"b":2.0,"c":"2","d":true,"e":null,"f":[1],"g":{}}]`},
			func(c *flcollect.Config) {
				c.ClientConf[0]["a"], c.ClientConf[0]["b"], c.ClientConf[0]["c"], c.ClientConf[0]["d"] = int64(2), 2.0, "2", true
			},
		},
		{"parameters of a strategy that is not built in", map[string]string{"strategy": `"mine"`, "strategy_conf": `{"alpha":1,"beta":"x"}`}, func(c *flcollect.Config) {
			c.Strategy, c.StrategyConf = "mine", strategy.Conf{"alpha": int64(1), "beta": "x"}
		}},
		{"parameters beyond the specification that a strategy has", map[string]string{"strategy": `"FedProx"`, "strategy_conf": `{"proximal_mu":"0.5"}`}, func(c *flcollect.Config) {
			c.Strategy, c.StrategyConf = "FedProx", strategy.Conf{"proximal_mu": "0.5"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := flcollect.ParseConfig(body(t, nil))
			require.NoError(t, err)
			if c.want != nil {
				c.want(&want)
			}
			got, err := flcollect.ParseConfig(body(t, c.changes))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestOfAKeyThatIsThereTwiceTheLastCounts(t *testing.T) {
	first := strings.Replace(string(body(t, nil)), "{", `{"strategy":7,"server_conf":{"num_rounds":2},`, 1)
	got, err := flcollect.ParseConfig([]byte("\uFEFF " + first + "\n"))
	require.NoError(t, err)
	require.Equal(t, "avg", got.Strategy)
	require.Equal(t, 1, got.Rounds)
}

func TestFaultsAreToldInTheWordsOfPydantic(t *testing.T) {
	const missing, none = "value_error.missing", "type_error.none.not_allowed"
	for _, c := range []struct {
		name, value string // what a member is replaced by
		want        flcollect.Detail
	}{
		{"strategy", ``, flcollect.Detail{Loc: []any{"body", "strategy"}, Msg: "field required", Type: missing}},
		{"model_name", ``, flcollect.Detail{Loc: []any{"body", "model_name"}, Msg: "field required", Type: missing}},
		{"model_version", ``, flcollect.Detail{Loc: []any{"body", "model_version"}, Msg: "field required", Type: missing}},
		{"server_conf", ``, flcollect.Detail{Loc: []any{"body", "server_conf"}, Msg: "field required", Type: missing}},
		{"strategy_conf", ``, flcollect.Detail{Loc: []any{"body", "strategy_conf"}, Msg: "field required", Type: missing}},
		{"client_conf", ``, flcollect.Detail{Loc: []any{"body", "client_conf"}, Msg: "field required", Type: missing}},
		{"privacy-mechanisms", ``, flcollect.Detail{Loc: []any{"body", "privacy-mechanisms"}, Msg: "field required", Type: missing}},
		{"configuration_id", ``, flcollect.Detail{Loc: []any{"body", "configuration_id"}, Msg: "field required", Type: missing}},

		{"strategy", `null`, flcollect.Detail{Loc: []any{"body", "strategy"}, Msg: "none is not an allowed value", Type: none}},
		{"strategy", `""`, flcollect.Detail{Loc: []any{"body", "strategy"}, Msg: "ensure this value has at least 1 characters", Type: "value_error.any_str.min_length"}},
		{"strategy", `[]`, flcollect.Detail{Loc: []any{"body", "strategy"}, Msg: "str type expected", Type: "type_error.str"}},
		{"model_name", `true`, flcollect.Detail{Loc: []any{"body", "model_name"}, Msg: "str type expected", Type: "type_error.str"}},
		{"model_name", `"` + strings.Repeat("é", 1025) + `"`, flcollect.Detail{Loc: []any{"body", "model_name"}, Msg: "ensure this value has at most 1024 characters", Type: "value_error.any_str.max_length"}},
		{"server_conf", `[]`, flcollect.Detail{Loc: []any{"body", "server_conf"}, Msg: "value is not a valid dict", Type: "type_error.dict"}},
		{"server_conf", `{"num_rounds":0}`, flcollect.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "ensure this value is greater than or equal to 1", Type: "value_error.number.not_ge"}},
		{"server_conf", `{"num_rounds":"1000001"}`, flcollect.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "ensure this value is less than or equal to 1000000", Type: "value_error.number.not_le"}},
		{"server_conf", `{"num_rounds":1.5}`, flcollect.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"num_rounds":true}`, flcollect.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"num_rounds":""}`, flcollect.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"num_rounds":1e300}`, flcollect.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"round_timeout":-1}`, flcollect.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "ensure this value is greater than or equal to 0", Type: "value_error.number.not_ge"}},
		{"server_conf", `{"round_timeout":1e9}`, flcollect.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "ensure this value is less than or equal to 31536000", Type: "value_error.number.not_le"}},
		{"server_conf", `{"round_timeout":"soon"}`, flcollect.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"server_conf", `{"round_timeout":"nan"}`, flcollect.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"server_conf", `{"round_timeout":"0x1p4"}`, flcollect.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"server_conf", `{"round_timeout":1e999}`, flcollect.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},

		{"client_conf", `{}`, flcollect.Detail{Loc: []any{"body", "client_conf"}, Msg: "value is not a valid list", Type: "type_error.list"}},
		{"client_conf", `[` + strings.Repeat(`{},`, 1000) + `{}]`, flcollect.Detail{Loc: []any{"body", "client_conf"}, Msg: "ensure this value has at most 1000 items", Type: "value_error.list.max_items"}},
		{"client_conf", `[{"epochs":1},{}]`, flcollect.Detail{Loc: []any{"body", "client_conf", 1, "epochs"}, Msg: "field required", Type: missing}},
		{"client_conf", `[{"epochs":1,"batch_size":null}]`, flcollect.Detail{Loc: []any{"body", "client_conf", 0, "batch_size"}, Msg: "none is not an allowed value", Type: none}},
		{"client_conf", `[{"epochs":1,"learning_rate":"fast"}]`, flcollect.Detail{Loc: []any{"body", "client_conf", 0, "learning_rate"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"client_conf", `["x"]`, flcollect.Detail{Loc: []any{"body", "client_conf", 0}, Msg: "value is not a valid dict", Type: "type_error.dict"}},

		{"configuration_id", `1.5`, flcollect.Detail{Loc: []any{"body", "configuration_id"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"configuration_id", `""`, flcollect.Detail{Loc: []any{"body", "configuration_id"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"configuration_id", `"word"`, flcollect.Detail{Loc: []any{"body", "configuration_id"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"configuration_id", `null`, flcollect.Detail{Loc: []any{"body", "configuration_id"}, Msg: "none is not an allowed value", Type: none}},
		{"stopping_flag", `null`, flcollect.Detail{Loc: []any{"body", "stopping_flag"}, Msg: "none is not an allowed value", Type: none}},
		{"stopping_flag", `"maybe"`, flcollect.Detail{Loc: []any{"body", "stopping_flag"}, Msg: "value could not be parsed to a boolean", Type: "type_error.bool"}},
		{"stopping_target", `{"accuracy":null}`, flcollect.Detail{Loc: []any{"body", "stopping_target", "accuracy"}, Msg: "none is not an allowed value", Type: none}},

		{"privacy-mechanisms", `{"dp":{}}`, flcollect.Detail{Loc: []any{"body", "privacy-mechanisms", "dp"}, Msg: "no such privacy mechanism; there are homomorphic and dp-adaptive", Type: "value_error.unknown"}},

		{"strategy_conf", `{"min_fit_clients":"two"}`, flcollect.Detail{Loc: []any{"body", "strategy_conf", "min_fit_clients"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"strategy_conf", `{"fraction_fit":1.5}`, flcollect.Detail{Loc: []any{"body", "strategy_conf", "fraction_fit"}, Msg: "1.5 is not between 0 and 1", Type: "value_error"}},
		{"strategy_conf", `{"min_fit_clients":0}`, flcollect.Detail{Loc: []any{"body", "strategy_conf", "min_fit_clients"}, Msg: "0 is not between 1 and 2147483647", Type: "value_error"}},
		{"strategy_conf", `{"mine":{}}`, flcollect.Detail{Loc: []any{"body", "strategy_conf", "mine"}, Msg: "a number, a truth value or text is expected", Type: "type_error"}},
	} {
		t.Run(c.name+" "+c.value[:min(40, len(c.value))], func(t *testing.T) {
			require.Equal(t, []flcollect.Detail{c.want}, faults(t, body(t, map[string]string{c.name: c.value})))
		})
	}
}

func faults(t *testing.T, text []byte) []flcollect.Detail {
	t.Helper()
	_, err := flcollect.ParseConfig(text)
	var faults *flcollect.ConfigError
	require.ErrorAs(t, err, &faults)
	return faults.Details
}

func TestAllFaultsAreToldInTheOrderOfTheFields(t *testing.T) {
	details := faults(t, body(t, map[string]string{
		"strategy_conf":    `{"tau":1,"fraction_fit":2,"min_fit_clients":2,"eta":1}`,
		"client_conf":      `[{"epochs":"x","batch_size":"y"},{}]`,
		"configuration_id": ``,
		"server_conf":      `{"num_rounds":"z"}`,
	}))
	var at []string
	for _, d := range details {
		at = append(at, strings.Trim(fmt.Sprint(d.Loc), "[]"))
	}
	require.Equal(t, []string{
		"body server_conf num_rounds",
		"body strategy_conf fraction_fit", "body strategy_conf eta", "body strategy_conf tau",
		"body client_conf 0 batch_size", "body client_conf 0 epochs", "body client_conf 1 epochs",
		"body configuration_id",
	}, at)
	require.Contains(t, details[2].Msg, "unknown here; there are fraction_fit")
}

func TestNoMoreThanAHundredFaultsAreTold(t *testing.T) {
	require.Len(t, faults(t, body(t, map[string]string{"client_conf": `[` + strings.Repeat(`{},`, 500) + `{}]`})), 100)
}

func TestTextThatIsNoJSONIsToldByItsCharacter(t *testing.T) {
	for text, want := range map[string]flcollect.Detail{
		"":                      {Loc: []any{"body"}, Msg: "field required", Type: "value_error.missing"},
		" \n":                   {Loc: []any{"body"}, Msg: "field required", Type: "value_error.missing"},
		"null":                  {Loc: []any{"body"}, Msg: "none is not an allowed value", Type: "type_error.none.not_allowed"},
		"7":                     {Loc: []any{"body"}, Msg: "value is not a valid dict", Type: "type_error.dict"},
		`[]`:                    {Loc: []any{"body"}, Msg: "value is not a valid dict", Type: "type_error.dict"},
		`{"a":`:                 {Loc: []any{"body", 5}, Msg: "unexpected end of JSON input: line 1 column 6 (char 5)", Type: "value_error.jsondecode"},
		"{\"é\":1,\n }":         {Loc: []any{"body", 9}, Msg: "invalid character '}' looking for beginning of object key string: line 2 column 2 (char 9)", Type: "value_error.jsondecode"},
		`{} x`:                  {Loc: []any{"body", 3}, Msg: "invalid character 'x' after top-level value: line 1 column 4 (char 3)", Type: "value_error.jsondecode"},
		`{"a":NaN}`:             {Loc: []any{"body", 5}, Msg: "invalid character 'N' looking for beginning of value: line 1 column 6 (char 5)", Type: "value_error.jsondecode"},
		"{\"\u00e9\":\"\xff\"}": {Loc: []any{"body", 6}, Msg: "invalid UTF-8: line 1 column 7 (char 6)", Type: "value_error.jsondecode"},
		strings.Repeat("[", 65) + strings.Repeat("]", 65): {
			Loc: []any{"body", 0}, Msg: "objects and lists are more than 64 deep: line 1 column 1 (char 0)", Type: "value_error.jsondecode",
		},
	} {
		require.Equal(t, []flcollect.Detail{want}, faults(t, []byte(text)), text)
	}
	require.Equal(t, "value_error.any_str.max_length", faults(t, []byte(strings.Repeat(" ", flcollect.MaxConfig+1)))[0].Type)
}

func TestTheErrorOfAConfigurationReadsAsASentence(t *testing.T) {
	_, err := flcollect.ParseConfig(body(t, map[string]string{"server_conf": `{"num_rounds":"x"}`, "client_conf": `[{}]`}))
	require.EqualError(t, err, "read configuration: body.server_conf.num_rounds: value is not a valid integer (and 1 more)")
}

func TestAStoredConfigurationIsReadAsItWas(t *testing.T) {
	for name, config := range map[string]flcollect.Config{
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
		var got flcollect.Config
		require.NoError(t, json.Unmarshal(data, &got), name)
		require.Equal(t, config, got, string(data))
	}
	_, err := json.Marshal(flcollect.Config{StrategyConf: strategy.Conf{"eta": math.NaN()}})
	require.ErrorContains(t, err, "not finite")
	for _, damaged := range []string{
		`{"server_conf":1}`, `{"server_conf":{"round_timeout":-1}}`, `{"server_conf":{"round_timeout":1e300}}`, `{"server_conf":{"round_timeout":"1"}}`,
		`{"strategy_conf":{"a":[1]}}`, `{"strategy_conf":{"a":null}}`, `{"client_conf":[{"a":1e999}]}`, `{"client_conf":[{"a":99999999999999999999}]}`,
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(damaged), &flcollect.Config{}), "read stored configuration: ", damaged)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(body(f, nil))
	f.Add(body(f, map[string]string{"strategy": `"mine"`, "strategy_conf": `{"a":1.0,"b":"x","eta":"2"}`, "stopping_target": `{"a":1e300}`}))
	f.Add(body(f, map[string]string{"client_conf": `[{"epochs":"1","z":-0.0,"y":1e21,"x":true}]`, "server_conf": `{"num_rounds":"2","round_timeout":0.1}`}))
	f.Add(body(f, map[string]string{"privacy-mechanisms": `{"homomorphic":{"coeff_mod_bit_sizes":["60",40,60]},"dp-adaptive":` + sampleDP + `}`}))
	f.Add([]byte("{\"\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := flcollect.ParseConfig(text)
		if err != nil {
			var faults *flcollect.ConfigError
			require.True(t, errors.As(err, &faults))
			require.NotEmpty(t, faults.Details)
			require.LessOrEqual(t, len(faults.Details), 100)
			_, err = json.Marshal(faults.Details)
			require.NoError(t, err)
			return
		}
		data, err := json.Marshal(config)
		require.NoError(t, err)
		again, err := flcollect.ParseConfig(data)
		require.NoError(t, err)
		require.Equal(t, config, again)
		var stored flcollect.Config
		require.NoError(t, json.Unmarshal(data, &stored))
		require.Equal(t, config, stored)
	})
}
