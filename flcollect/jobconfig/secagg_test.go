package jobconfig_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// masked returns the body of a job with secure aggregation.
func masked(name, conf, mechanisms string) []byte {
	return fmt.Appendf(nil, `{"strategy": %q, "model_name": "m", "model_version": "1", "server_conf": {}, "strategy_conf": %s,
		"client_conf": [{"epochs": 1}], "privacy-mechanisms": %s, "configuration_id": 1, "app": "us/masked"}`, name, conf, mechanisms)
}

func TestParse_readsSecureAggregation(t *testing.T) {
	c, err := jobconfig.Parse(masked("FedAdam", `{"min_fit_clients": 5}`, `{"secagg": {"num_shares": 0.6, "reconstruction_threshold": "2",
		"max_weight": 500, "clipping_range": 2.5, "quantization_range": 1048576, "modulus_range": 4294967296, "timeout": 30}}`))
	require.NoError(t, err)
	want := secagg.Settings{NumShares: 0.6, ReconstructionThreshold: 2, MaxWeight: 500, ClippingRange: 2.5,
		QuantizationRange: 1 << 20, ModulusRange: 1 << 32, Timeout: 30}
	require.Equal(t, want, *c.SecAgg)
	require.Equal(t, []string{"secagg"}, c.Mechanisms())
	require.Equal(t, jobconfig.FitIns, c.Records, "the default of such a job")

	stored, data, err := c.Stored()
	require.NoError(t, err)
	require.Equal(t, want, *stored.Copy().SecAgg)
	require.NotSame(t, stored.SecAgg, stored.Copy().SecAgg)
	var again jobconfig.Config
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, want, *again.SecAgg)

	c, err = jobconfig.Parse(masked("avg", `{}`, `{"secagg": {"timeout": null}}`))
	require.NoError(t, err)
	require.Equal(t, &secagg.Settings{}, c.SecAgg, "an object without members is secure aggregation with the defaults")
	_, data, err = c.Stored()
	require.NoError(t, err)
	require.Contains(t, string(data), `"privacy-mechanisms":{"secagg":{}}`)
}

func TestParse_refusesWhatSecureAggregationCannotDo(t *testing.T) {
	secAgg := `{"secagg": {}}`
	for fault, body := range map[string][]byte{
		`privacy-mechanisms.secagg: cannot be combined with homomorphic`: masked("avg", `{}`, `{"secagg": {}, "homomorphic": {}}`),
		`privacy-mechanisms.secagg: cannot be combined with dp-adaptive`: masked("avg", `{}`,
			`{"secagg": {}, "dp-adaptive": {"num_sampled_clients": 100}}`),
		`privacy-mechanisms.secagg: is not an object`:                       masked("avg", `{}`, `{"secagg": true}`),
		`privacy-mechanisms.secagg.shares: unknown here`:                    masked("avg", `{}`, `{"secagg": {"shares": 3}}`),
		`privacy-mechanisms.secagg.num_shares: 0 is not greater than 0`:     masked("avg", `{}`, `{"secagg": {"num_shares": 0}}`),
		`privacy-mechanisms.secagg.num_shares: 2 is neither`:                masked("avg", `{}`, `{"secagg": {"num_shares": 2}}`),
		`privacy-mechanisms.secagg.max_weight: is not a number`:             masked("avg", `{}`, `{"secagg": {"max_weight": []}}`),
		`privacy-mechanisms.secagg.modulus_range: 1000 is not a power of 2`: masked("avg", `{}`, `{"secagg": {"modulus_range": 1000}}`),
		`privacy-mechanisms.secagg.reconstruction_threshold: 3 is more than the 2 shares in a round of 2 clients`: masked("avg", `{}`,
			`{"secagg": {"reconstruction_threshold": 3}}`),
		`strategy: has only the mean of the updates with secagg`: masked("Krum", `{}`, secAgg),
		`strategy_conf.norm_bound: has no meaning with secagg`:   masked("avg", `{"norm_bound": 3}`, secAgg),
		`strategy_conf.min_fit_clients: must be 2 or more`:       masked("FaultTolerantFedAvg", `{}`, secAgg),
		`strategy_conf.min_fit_clients: 0 is not between 1`:      masked("avg", `{"min_fit_clients": 0}`, secAgg),
	} {
		t.Run(fault, func(t *testing.T) {
			_, err := jobconfig.Parse(body)
			var faults *jobconfig.Error
			require.ErrorAs(t, err, &faults)
			require.Len(t, faults.Faults, 1)
			require.Contains(t, faults.Faults[0].String(), fault)
		})
	}
}

// What a program sets is checked like what the REST interface reads.
func TestConfig_Check_refusesWhatSecureAggregationCannotDo(t *testing.T) {
	config := jobconfig.Config{Strategy: "FedAvg", Rounds: 1, SecAgg: &secagg.Settings{}, App: "us/masked"}
	checked, err := config.Check()
	require.NoError(t, err)
	require.Equal(t, jobconfig.FitIns, checked.Records)
	var setting *secagg.FieldError
	var parameter *strategy.FieldError
	config.SecAgg.NumShares = -1
	_, err = config.Check()
	require.ErrorAs(t, err, &setting)
	config.SecAgg.NumShares = 0
	config.Homomorphic = &ckks.Settings{}
	_, err = config.Check()
	require.ErrorAs(t, err, &setting)
	config.Homomorphic, config.Strategy = nil, "own"
	_, err = config.Check()
	require.ErrorAs(t, err, &parameter)
	require.Equal(t, "strategy", parameter.Field)
	config.Strategy, config.StrategyConf = "FedAvg", strategy.Conf{"norm_clip": true}
	_, err = config.Check()
	require.ErrorAs(t, err, &parameter)
	require.Equal(t, "norm_clip", parameter.Field)
	config.StrategyConf, config.Records = nil, jobconfig.Arrays
	_, err = config.Check()
	require.ErrorContains(t, err, `server_conf.records: must be "fitins" with secagg`)
	config.Records, config.App = "", ""
	_, err = config.Check()
	require.ErrorContains(t, err, "app: must name an app with secaggplus_mod")
}

func TestParse_refusesClientsThatSecureAggregationCannotHave(t *testing.T) {
	for fault, change := range map[string][2]string{
		"app: must name an app with secaggplus_mod":                {`, "app": "us/masked"`, ``},
		`server_conf.records: must be "fitins" with secagg: Flow`:  {`"server_conf": {}`, `"server_conf": {"records": "arrays"}`},
		`server_conf.compression: the updates of the job are mask`: {`"server_conf": {}`, `"server_conf": {"compression": ["float16"]}`},
		`server_conf.async: has no meaning with secagg`:            {`"server_conf": {}`, `"server_conf": {"async": {"buffer": 2}}`},
	} {
		body := strings.Replace(string(masked("avg", `{}`, `{"secagg": {}}`)), change[0], change[1], 1)
		_, err := jobconfig.Parse([]byte(body))
		var faults *jobconfig.Error
		require.ErrorAs(t, err, &faults)
		require.Len(t, faults.Faults, 1)
		require.Contains(t, faults.Faults[0].String(), fault)
	}
}
