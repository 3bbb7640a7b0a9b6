package flcollect_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// sampleDP is the object dp-adaptive of a job for 30 clients a round.
const sampleDP = `{"num_sampled_clients":"30","init_clip_norm":0.5,"noise_multiplier":"1.1","server_side_noising":"true",
	"clip_count_stddev":null,"clip_norm_target_quantile":"0.4","clip_norm_lr":0.3,"delta":"1e-6","epsilon_budget":50,"sampling_rate":"0.5"}`

func TestPrivacyMechanismsAreReadWithNumbersAsTextOrNot(t *testing.T) {
	open := &ckks.Settings{Scheme: "CKKS"} // the clients' keys say the rest
	dp := strategy.Conf{"num_sampled_clients": int64(30), "init_clip_norm": 0.5, "noise_multiplier": 1.1, "server_side_noising": true,
		"clip_norm_target_quantile": 0.4, "clip_norm_lr": 0.3, "delta": 1e-6, "epsilon_budget": 50.0, "sampling_rate": 0.5}
	for _, c := range []struct {
		name, mechanisms string
		homomorphic      *ckks.Settings
		dp               strategy.Conf
	}{
		{"none", `{}`, nil, nil},
		{"encryption by default", `{"homomorphic":{}}`, open, nil},
		{"encryption", `{"homomorphic":{"poly_modulus_degree":"16384","coeff_mod_bit_sizes":["60",40,"60"],"scale_bits":"40","scheme":"ckks"}}`,
			&ckks.Settings{Scheme: "CKKS", PolyModulusDegree: 16384, CoeffModBitSizes: []int{60, 40, 60}, ScaleBits: 40}, nil},
		{"encryption with named moduli", `{"homomorphic":{"coeff_mod_bit_sizes":[60,40,60]}}`,
			&ckks.Settings{Scheme: "CKKS", PolyModulusDegree: 8192, CoeffModBitSizes: []int{60, 40, 60}, ScaleBits: 40}, nil},
		{"encryption of a degree", `{"homomorphic":{"poly_modulus_degree":4096,"coeff_mod_bit_sizes":null}}`,
			&ckks.Settings{Scheme: "CKKS", PolyModulusDegree: 4096}, nil},
		{"noise", `{"dp-adaptive":` + sampleDP + `}`, nil, dp},
		{"both", `{"homomorphic":{"scheme":null},"dp-adaptive":` + sampleDP + `}`, open, dp},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := flcollect.ParseConfig(body(t, map[string]string{"privacy-mechanisms": c.mechanisms}))
			require.NoError(t, err)
			if c.homomorphic != nil {
				got.Homomorphic.Scheme = "CKKS" // in any case of letters
			}
			require.Equal(t, c.homomorphic, got.Homomorphic)
			require.Equal(t, c.dp, got.DPAdaptive)
			stored, err := json.Marshal(got)
			require.NoError(t, err)
			var again flcollect.Config
			require.NoError(t, json.Unmarshal(stored, &again))
			require.Equal(t, got, again)
			parsed, err := flcollect.ParseConfig(stored)
			require.NoError(t, err)
			require.Equal(t, got, parsed)
		})
	}
}

func TestFaultsOfPrivacyMechanismsSayWhere(t *testing.T) {
	dp := func(field string) []any { return []any{"body", "privacy-mechanisms", "dp-adaptive", field} }
	he := func(field string) []any { return []any{"body", "privacy-mechanisms", "homomorphic", field} }
	for _, c := range []struct {
		mechanisms string
		loc        []any
		msg, kind  string
	}{
		{`{"homomorphic":null}`, []any{"body", "privacy-mechanisms", "homomorphic"}, "none is not an allowed value", "type_error.none.not_allowed"},
		{`{"homomorphic":[]}`, []any{"body", "privacy-mechanisms", "homomorphic"}, "value is not a valid dict", "type_error.dict"},
		{`{"homomorphic":{"scheme":"BFV"}}`, he("scheme"), "CKKS", "value_error"},
		{`{"homomorphic":{"scheme":""}}`, he("scheme"), "ensure this value has at least 1 characters", "value_error.any_str.min_length"},
		{`{"homomorphic":{"poly_modulus_degree":8000}}`, he("poly_modulus_degree"), "8000", "value_error"},
		{`{"homomorphic":{"poly_modulus_degree":0}}`, he("poly_modulus_degree"), "greater than or equal to 1", "value_error.number.not_ge"},
		{`{"homomorphic":{"poly_modulus_degree":4096,"coeff_mod_bit_sizes":[60,40,40]}}`, he("coeff_mod_bit_sizes"), "109", "value_error"},
		{`{"homomorphic":{"coeff_mod_bit_sizes":[]}}`, he("coeff_mod_bit_sizes"), "at least 1 items", "value_error.list.min_items"},
		{`{"homomorphic":{"coeff_mod_bit_sizes":[60,"x"]}}`, append(he("coeff_mod_bit_sizes"), 1), "value is not a valid integer", "type_error.integer"},
		{`{"homomorphic":{"scale_bits":400}}`, he("scale_bits"), "", "value_error"},
		{`{"homomorphic":{"degree":8192}}`, he("degree"), "unknown here", "value_error.unknown"},

		{`{"dp-adaptive":null}`, []any{"body", "privacy-mechanisms", "dp-adaptive"}, "none is not an allowed value", "type_error.none.not_allowed"},
		{`{"dp-adaptive":{}}`, dp("num_sampled_clients"), "required", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":1.5}}`, dp("num_sampled_clients"), "value is not a valid integer", "type_error.integer"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":"much"}}`, dp("noise_multiplier"), "value is not a valid float", "type_error.float"},
		{`{"dp-adaptive":{"num_sampled_clients":1}}`, dp("noise_multiplier"), "complex", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":5,"clip_count_stddev":0.1}}`, dp("noise_multiplier"), "5 makes the effective multiplier complex", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":0}}`, dp("noise_multiplier"), "multiplier zero", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplier":3}}`, dp("noise_multiplier"), "infinite", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"epsilon_budget":"0.01"}}`, dp("epsilon_budget"), "does not afford one round", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"delta":1}}`, dp("delta"), "it is 1", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"clip_norm_target_quantile":2}}`, dp("clip_norm_target_quantile"), "2 is not between 0 and 1", "value_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"server_side_noising":"maybe"}}`, dp("server_side_noising"), "boolean", "type_error.bool"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise":{}}}`, dp("noise"), "expected", "type_error"},
		{`{"dp-adaptive":{"num_sampled_clients":30,"noise_multiplyer":1.1}}`, dp("noise_multiplyer"), "unknown here", "value_error"},
	} {
		t.Run(c.mechanisms, func(t *testing.T) {
			got := faults(t, body(t, map[string]string{"privacy-mechanisms": c.mechanisms}))
			require.Len(t, got, 1)
			require.Equal(t, c.loc, got[0].Loc)
			require.Contains(t, got[0].Msg, c.msg)
			require.Equal(t, c.kind, got[0].Type)
		})
	}
}

func TestARuleThatComparesClientsIsRefusedWithDifferentialPrivacy(t *testing.T) {
	changes := map[string]string{"strategy": `"Krum"`, "privacy-mechanisms": `{"dp-adaptive":` + sampleDP + `}`}
	got := faults(t, body(t, changes))
	require.Len(t, got, 1)
	require.Equal(t, []any{"body", "strategy"}, got[0].Loc)
	require.Contains(t, got[0].Msg, "it compares clients")

	changes["privacy-mechanisms"] = `{"homomorphic":{},"dp-adaptive":` + sampleDP + `}`
	_, err := flcollect.ParseConfig(body(t, changes))
	require.NoError(t, err, "encrypted updates are averaged")
}

func TestOfAnEncryptedJobOnlyTheRulesOfSamplingAreChecked(t *testing.T) {
	changes := map[string]string{"strategy": `"FedAvgM"`, "privacy-mechanisms": `{"homomorphic":{}}`,
		"strategy_conf": `{"server_momentum":-1,"beta":"x","min_completion_rate_fit":0.5}`}
	_, err := flcollect.ParseConfig(body(t, changes))
	require.NoError(t, err)
	changes["strategy_conf"] = `{"fraction_fit":2,"min_completion_rate_evaluate":3}`
	got := faults(t, body(t, changes))
	require.Len(t, got, 2)
	require.Equal(t, []any{"body", "strategy_conf", "fraction_fit"}, got[0].Loc)
	require.Equal(t, []any{"body", "strategy_conf", "min_completion_rate_evaluate"}, got[1].Loc)
}

func TestFaultsOfPrivacyMechanismsAreToldOfStartAsWell(t *testing.T) {
	w := newWorld(t, flcollect.Options{Initial: zeros})
	conf := config(1, 1)
	conf.DPAdaptive = strategy.Conf{"num_sampled_clients": 5}
	var field *strategy.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &field)
	require.Equal(t, "noise_multiplier", field.Field)
	conf.DPAdaptive = strategy.Conf{}
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &field, "who asks for privacy is not trained without")
	conf = config(1, 1)
	conf.Homomorphic = &ckks.Settings{PolyModulusDegree: 7}
	var encryption *ckks.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &encryption)

	for field, err := range map[string]error{
		"dp-adaptive": &strategy.FieldError{Strategy: "dp-adaptive", Field: "delta", Reason: "why"},
		"homomorphic": &ckks.FieldError{Field: "delta", Reason: "why"},
	} {
		b := newBoard()
		b.err = err
		w := ask(flcollect.HandlerOf(b, nil), "POST", "/job/config/a", string(body(t, nil)))
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		require.JSONEq(t, `{"detail":[{"loc":["body","privacy-mechanisms","`+field+`","delta"],"msg":"why","type":"value_error"}]}`, w.Body.String())
	}
}
