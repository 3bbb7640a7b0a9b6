package detail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
)

func TestAll_reportsFaultsInTheWordsOfPydantic(t *testing.T) {
	const missing, none = "value_error.missing", "type_error.none.not_allowed"
	for _, c := range []struct {
		name, value string // what a member is replaced by
		want        detail.Detail
	}{
		{"strategy", ``,
			detail.Detail{Loc: []any{"body", "strategy"}, Msg: "field required", Type: missing}},
		{"model_name", ``,
			detail.Detail{Loc: []any{"body", "model_name"}, Msg: "field required", Type: missing}},
		{"model_version", ``,
			detail.Detail{Loc: []any{"body", "model_version"}, Msg: "field required", Type: missing}},
		{"server_conf", ``,
			detail.Detail{Loc: []any{"body", "server_conf"}, Msg: "field required", Type: missing}},
		{"strategy_conf", ``,
			detail.Detail{Loc: []any{"body", "strategy_conf"}, Msg: "field required", Type: missing}},
		{"client_conf", ``,
			detail.Detail{Loc: []any{"body", "client_conf"}, Msg: "field required", Type: missing}},
		{"privacy-mechanisms", ``,
			detail.Detail{Loc: []any{"body", "privacy-mechanisms"}, Msg: "field required", Type: missing}},
		{"configuration_id", ``,
			detail.Detail{Loc: []any{"body", "configuration_id"}, Msg: "field required", Type: missing}},

		{"strategy", `null`,
			detail.Detail{Loc: []any{"body", "strategy"}, Msg: "none is not an allowed value", Type: none}},
		{"strategy", `""`,
			detail.Detail{Loc: []any{"body", "strategy"}, Msg: "ensure this value has at least 1 characters",
				Type: "value_error.any_str.min_length"}},
		{"strategy", `[]`,
			detail.Detail{Loc: []any{"body", "strategy"}, Msg: "str type expected", Type: "type_error.str"}},
		{"model_name", `true`,
			detail.Detail{Loc: []any{"body", "model_name"}, Msg: "str type expected", Type: "type_error.str"}},
		{"model_name", `"` + strings.Repeat("é", 1025) + `"`,
			detail.Detail{Loc: []any{"body", "model_name"}, Msg: "ensure this value has at most 1024 characters",
				Type: "value_error.any_str.max_length"}},
		{"server_conf", `[]`,
			detail.Detail{Loc: []any{"body", "server_conf"}, Msg: "value is not a valid dict", Type: "type_error.dict"}},
		{"server_conf", `{"num_rounds":0}`,
			detail.Detail{Loc: []any{"body", "server_conf", "num_rounds"},
				Msg: "ensure this value is greater than or equal to 1", Type: "value_error.number.not_ge"}},
		{"server_conf", `{"num_rounds":"1000001"}`,
			detail.Detail{Loc: []any{"body", "server_conf", "num_rounds"},
				Msg: "ensure this value is less than or equal to 1000000", Type: "value_error.number.not_le"}},
		{"server_conf", `{"num_rounds":1.5}`,
			detail.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"num_rounds":true}`,
			detail.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"num_rounds":""}`,
			detail.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"num_rounds":1e300}`,
			detail.Detail{Loc: []any{"body", "server_conf", "num_rounds"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"server_conf", `{"round_timeout":-1}`,
			detail.Detail{Loc: []any{"body", "server_conf", "round_timeout"},
				Msg: "ensure this value is greater than or equal to 0", Type: "value_error.number.not_ge"}},
		{"server_conf", `{"round_timeout":1e9}`,
			detail.Detail{Loc: []any{"body", "server_conf", "round_timeout"},
				Msg: "ensure this value is less than or equal to 31536000", Type: "value_error.number.not_le"}},
		{"server_conf", `{"round_timeout":"soon"}`,
			detail.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"server_conf", `{"round_timeout":"nan"}`,
			detail.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"server_conf", `{"round_timeout":"0x1p4"}`,
			detail.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"server_conf", `{"round_timeout":1e999}`,
			detail.Detail{Loc: []any{"body", "server_conf", "round_timeout"}, Msg: "value is not a valid float", Type: "type_error.float"}},

		{"client_conf", `{}`,
			detail.Detail{Loc: []any{"body", "client_conf"}, Msg: "value is not a valid list", Type: "type_error.list"}},
		{"client_conf", `[` + strings.Repeat(`{},`, 1000) + `{}]`,
			detail.Detail{Loc: []any{"body", "client_conf"}, Msg: "ensure this value has at most 1000 items",
				Type: "value_error.list.max_items"}},
		{"client_conf", `[{"epochs":1},{}]`,
			detail.Detail{Loc: []any{"body", "client_conf", 1, "epochs"}, Msg: "field required", Type: missing}},
		{"client_conf", `[{"epochs":1,"batch_size":null}]`,
			detail.Detail{Loc: []any{"body", "client_conf", 0, "batch_size"}, Msg: "none is not an allowed value", Type: none}},
		{"client_conf", `[{"epochs":1,"learning_rate":"fast"}]`,
			detail.Detail{Loc: []any{"body", "client_conf", 0, "learning_rate"}, Msg: "value is not a valid float", Type: "type_error.float"}},
		{"client_conf", `["x"]`,
			detail.Detail{Loc: []any{"body", "client_conf", 0}, Msg: "value is not a valid dict", Type: "type_error.dict"}},

		{"configuration_id", `1.5`,
			detail.Detail{Loc: []any{"body", "configuration_id"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"configuration_id", `""`,
			detail.Detail{Loc: []any{"body", "configuration_id"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"configuration_id", `"word"`,
			detail.Detail{Loc: []any{"body", "configuration_id"}, Msg: "value is not a valid integer", Type: "type_error.integer"}},
		{"configuration_id", `null`,
			detail.Detail{Loc: []any{"body", "configuration_id"}, Msg: "none is not an allowed value", Type: none}},
		{"stopping_flag", `null`,
			detail.Detail{Loc: []any{"body", "stopping_flag"}, Msg: "none is not an allowed value", Type: none}},
		{"stopping_flag", `"maybe"`,
			detail.Detail{Loc: []any{"body", "stopping_flag"}, Msg: "value could not be parsed to a boolean", Type: "type_error.bool"}},
		{"stopping_target", `{"accuracy":null}`,
			detail.Detail{Loc: []any{"body", "stopping_target", "accuracy"}, Msg: "none is not an allowed value", Type: none}},

		{"privacy-mechanisms", `{"dp":{}}`,
			detail.Detail{Loc: []any{"body", "privacy-mechanisms", "dp"},
				Msg: "no such privacy mechanism; there are homomorphic, dp-adaptive and secagg", Type: "value_error.unknown"}},

		{"strategy_conf", `{"min_fit_clients":"two"}`,
			detail.Detail{Loc: []any{"body", "strategy_conf", "min_fit_clients"}, Msg: "value is not a valid integer",
				Type: "type_error.integer"}},
		{"strategy_conf", `{"fraction_fit":1.5}`,
			detail.Detail{Loc: []any{"body", "strategy_conf", "fraction_fit"}, Msg: "1.5 is not between 0 and 1", Type: "value_error"}},
		{"strategy_conf", `{"min_fit_clients":0}`,
			detail.Detail{Loc: []any{"body", "strategy_conf", "min_fit_clients"}, Msg: "0 is not between 1 and 2147483647", Type: "value_error"}},
		{"strategy_conf", `{"mine":{}}`,
			detail.Detail{Loc: []any{"body", "strategy_conf", "mine"}, Msg: "a number, a truth value or text is expected", Type: "type_error"}},
	} {
		t.Run(c.name+" "+c.value[:min(40, len(c.value))], func(t *testing.T) {
			require.Equal(t, []detail.Detail{c.want}, faults(t, jobstest.Body(t, map[string]string{c.name: c.value})))
		})
	}
}

func faults(t *testing.T, text []byte) []detail.Detail {
	t.Helper()
	_, err := jobconfig.Parse(text)
	require.Error(t, err)
	return detail.All(err)
}

func TestAll_reportsFaultsInTheOrderOfTheFields(t *testing.T) {
	details := faults(t, jobstest.Body(t, map[string]string{
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

func TestAll_reportsAHundredFaultsAtMost(t *testing.T) {
	require.Len(t, faults(t, jobstest.Body(t, map[string]string{"client_conf": `[` + strings.Repeat(`{},`, 500) + `{}]`})), 100)
}

func TestAll_reportsWhereABodyStopsBeingJSON(t *testing.T) {
	for text, want := range map[string]detail.Detail{
		"":     {Loc: []any{"body"}, Msg: "field required", Type: "value_error.missing"},
		" \n":  {Loc: []any{"body"}, Msg: "field required", Type: "value_error.missing"},
		"null": {Loc: []any{"body"}, Msg: "none is not an allowed value", Type: "type_error.none.not_allowed"},
		"7":    {Loc: []any{"body"}, Msg: "value is not a valid dict", Type: "type_error.dict"},
		`[]`:   {Loc: []any{"body"}, Msg: "value is not a valid dict", Type: "type_error.dict"},
		`{"a":`: {Loc: []any{"body", 5}, Msg: "unexpected end of JSON input: line 1 column 6 (char 5)",
			Type: "value_error.jsondecode"},
		"{\"é\":1,\n }": {Loc: []any{"body", 9},
			Msg: "invalid character '}' looking for beginning of object key string: line 2 column 2 (char 9)", Type: "value_error.jsondecode"},
		`{} x`: {Loc: []any{"body", 3},
			Msg: "invalid character 'x' after top-level value: line 1 column 4 (char 3)", Type: "value_error.jsondecode"},
		`{"a":NaN}`: {Loc: []any{"body", 5},
			Msg: "invalid character 'N' looking for beginning of value: line 1 column 6 (char 5)", Type: "value_error.jsondecode"},
		"{\"\u00e9\":\"\xff\"}": {Loc: []any{"body", 6}, Msg: "invalid UTF-8: line 1 column 7 (char 6)", Type: "value_error.jsondecode"},
		strings.Repeat("[", 65) + strings.Repeat("]", 65): {
			Loc: []any{"body", 0}, Msg: "objects and lists are more than 64 deep: line 1 column 1 (char 0)", Type: "value_error.jsondecode",
		},
	} {
		require.Equal(t, []detail.Detail{want}, faults(t, []byte(text)), text)
	}
	require.Equal(t, "value_error.any_str.max_length", faults(t, []byte(strings.Repeat(" ", jobconfig.MaxSize+1)))[0].Type)
}

func TestAll_reportsThePlacesOfPrivacyFaults(t *testing.T) {
	dp := func(field string) []any { return []any{"body", "privacy-mechanisms", "dp-adaptive", field} }
	sealed := func(field string) []any { return []any{"body", "privacy-mechanisms", "homomorphic", field} }
	for _, c := range []struct {
		mechanisms string
		loc        []any
		msg, kind  string
	}{
		{`{"homomorphic":null}`, []any{"body", "privacy-mechanisms", "homomorphic"}, "none is not an allowed value",
			"type_error.none.not_allowed"},
		{`{"homomorphic":[]}`, []any{"body", "privacy-mechanisms", "homomorphic"}, "value is not a valid dict", "type_error.dict"},
		{`{"homomorphic":{"scheme":"BFV"}}`, sealed("scheme"), "CKKS", "value_error"},
		{`{"homomorphic":{"scheme":""}}`, sealed("scheme"), "ensure this value has at least 1 characters", "value_error.any_str.min_length"},
		{`{"homomorphic":{"poly_modulus_degree":8000}}`, sealed("poly_modulus_degree"), "8000", "value_error"},
		{`{"homomorphic":{"poly_modulus_degree":0}}`, sealed("poly_modulus_degree"), "greater than or equal to 1", "value_error.number.not_ge"},
		{`{"homomorphic":{"poly_modulus_degree":4096,"coeff_mod_bit_sizes":[60,40,40]}}`, sealed("coeff_mod_bit_sizes"), "109", "value_error"},
		{`{"homomorphic":{"coeff_mod_bit_sizes":[]}}`, sealed("coeff_mod_bit_sizes"), "at least 1 items", "value_error.list.min_items"},
		{`{"homomorphic":{"coeff_mod_bit_sizes":[60,"x"]}}`, append(sealed("coeff_mod_bit_sizes"), 1),
			"value is not a valid integer", "type_error.integer"},
		{`{"homomorphic":{"scale_bits":400}}`, sealed("scale_bits"), "", "value_error"},
		{`{"homomorphic":{"degree":8192}}`, sealed("degree"), "unknown here", "value_error.unknown"},

		{`{"dp-adaptive":null}`, []any{"body", "privacy-mechanisms", "dp-adaptive"}, "none is not an allowed value",
			"type_error.none.not_allowed"},
		{`{"dp-adaptive":{}}`, dp("num_sampled_clients"), "required", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":1.5}}`, dp("num_sampled_clients"), "value is not a valid integer", "type_error.integer"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":"much"}}`, dp("noise_multiplier"),
			"value is not a valid float", "type_error.float"},
		{`{"dp-adaptive":{"num_sampled_clients":1}}`, dp("noise_multiplier"), "complex", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":5,"clip_count_stddev":0.1}}`, dp("noise_multiplier"),
			"5 makes the effective multiplier complex", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":0}}`, dp("noise_multiplier"), "multiplier zero", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":3}}`, dp("noise_multiplier"), "infinite", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"epsilon_budget":"0.01"}}`, dp("epsilon_budget"), "does not afford one round", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"delta":1}}`, dp("delta"), "it is 1", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"clip_norm_target_quantile":2}}`, dp("clip_norm_target_quantile"),
			"2 is not between 0 and 1", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"server_side_noising":"maybe"}}`, dp("server_side_noising"), "boolean", "type_error.bool"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise":{}}}`, dp("noise"), "expected", "type_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplyer":1.1}}`, dp("noise_multiplyer"), "unknown here", "value_error"},
	} {
		t.Run(c.mechanisms, func(t *testing.T) {
			got := faults(t, jobstest.Body(t, map[string]string{"privacy-mechanisms": c.mechanisms}))
			require.Len(t, got, 1)
			require.Equal(t, c.loc, got[0].Loc)
			require.Contains(t, got[0].Msg, c.msg)
			require.Equal(t, c.kind, got[0].Type)
		})
	}
}
