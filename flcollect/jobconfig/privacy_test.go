package jobconfig_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// sampleDP is the object dp-adaptive of a job for 30 clients a round.
const sampleDP = `{"num_sampled_clients":"30","init_clip_norm":0.5,"noise_multiplier":"1.1","server_side_noising":"true",
	"clip_count_stddev":null,"clip_norm_target_quantile":"0.4","clip_norm_lr":0.3,"delta":"1e-6","epsilon_budget":50,"sampling_rate":"0.5"}`

// sealedDP is that object for encrypted updates, with which each client takes part.
var sealedDP = strings.Replace(sampleDP, `"sampling_rate":"0.5"`, `"sampling_rate":1`, 1)

func TestParse_readsPrivacyMechanisms(t *testing.T) {
	open := &ckks.Settings{Scheme: "CKKS"} // the clients' keys say the rest
	dp := strategy.Conf{"num_sampled_clients": int64(30), "init_clip_norm": 0.5, "noise_multiplier": 1.1, "server_side_noising": true,
		"clip_norm_target_quantile": 0.4, "clip_norm_lr": 0.3, "delta": 1e-6, "epsilon_budget": 50.0, "sampling_rate": 0.5}
	sealed := maps.Clone(dp)
	sealed["sampling_rate"] = 1.0
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
		{"both", `{"homomorphic":{"scheme":null},"dp-adaptive":` + sealedDP + `}`, open, sealed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := jobconfig.Parse(body(t, map[string]string{"privacy-mechanisms": c.mechanisms}))
			require.NoError(t, err)
			if c.homomorphic != nil {
				got.Homomorphic.Scheme = "CKKS" // in any case of letters
			}
			require.Equal(t, c.homomorphic, got.Homomorphic)
			require.Equal(t, c.dp, got.DPAdaptive)
			stored, err := json.Marshal(got)
			require.NoError(t, err)
			var again jobconfig.Config
			require.NoError(t, json.Unmarshal(stored, &again))
			require.Equal(t, got, again)
			parsed, err := jobconfig.Parse(stored)
			require.NoError(t, err)
			require.Equal(t, got, parsed)
		})
	}
}

func faults(t *testing.T, text []byte) []jobconfig.Fault {
	t.Helper()
	_, err := jobconfig.Parse(text)
	var faults *jobconfig.Error
	require.ErrorAs(t, err, &faults)
	return faults.Faults
}

func TestParse_refusesDPWithAStrategyThatComparesClients(t *testing.T) {
	changes := map[string]string{"strategy": `"Krum"`, "privacy-mechanisms": `{"dp-adaptive":` + sampleDP + `}`}
	got := faults(t, body(t, changes))
	require.Len(t, got, 1)
	require.Equal(t, []any{"strategy"}, got[0].Path)
	require.Contains(t, got[0].Reason, "it compares clients")

	changes["privacy-mechanisms"] = `{"homomorphic":{},"dp-adaptive":` + sealedDP + `}`
	_, err := jobconfig.Parse(body(t, changes))
	require.NoError(t, err, "encrypted updates are averaged")
}

func TestParse_checksOnlySamplingOfAnEncryptedJob(t *testing.T) {
	changes := map[string]string{"strategy": `"FedAvgM"`, "privacy-mechanisms": `{"homomorphic":{}}`,
		"strategy_conf": `{"server_momentum":-1,"beta":"x","min_completion_rate_fit":0.5}`}
	_, err := jobconfig.Parse(body(t, changes))
	require.NoError(t, err)
	changes["strategy_conf"] = `{"fraction_fit":2,"min_completion_rate_evaluate":3}`
	got := faults(t, body(t, changes))
	require.Len(t, got, 2)
	require.Equal(t, []any{"strategy_conf", "fraction_fit"}, got[0].Path)
	require.Equal(t, []any{"strategy_conf", "min_completion_rate_evaluate"}, got[1].Path)
}
