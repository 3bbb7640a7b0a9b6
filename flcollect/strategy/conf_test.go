package strategy_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestNew_namesParametersOutOfRange(t *testing.T) {
	for _, c := range []struct {
		name  string
		conf  strategy.Conf
		field string
	}{
		{"FedSomething", nil, "strategy"},
		{"", nil, "strategy"},
		{"avg", strategy.Conf{"eta": 0.1}, "eta"},
		{"avg", strategy.Conf{"fraction_fit": 1.5}, "fraction_fit"},
		{"avg", strategy.Conf{"fraction_fit": math.NaN()}, "fraction_fit"},
		{"avg", strategy.Conf{"fraction_fit": "half"}, "fraction_fit"},
		{"avg", strategy.Conf{"min_fit_clients": 1.5}, "min_fit_clients"},
		{"avg", strategy.Conf{"min_fit_clients": -1}, "min_fit_clients"},
		{"avg", strategy.Conf{"min_available_clients": []int{1}}, "min_available_clients"},
		{"avg", strategy.Conf{"accept_failures": "perhaps"}, "accept_failures"},
		{"FaultTolerantFedAvg", strategy.Conf{"accept_failures": true}, "accept_failures"},
		{"FaultTolerantFedAvg", strategy.Conf{"min_completion_rate_fit": 2}, "min_completion_rate_fit"},
		{"FedProx", nil, "proximal_mu"},
		{"FedAdagrad", strategy.Conf{"beta_1": 0.9}, "beta_1"},
		{"FedAdam", strategy.Conf{"beta_2": 1.1}, "beta_2"},
		{"FedAdam", strategy.Conf{"bias_correction": "perhaps"}, "bias_correction"},
		{"FedAdam", strategy.Conf{"bias_correction": true, "beta_1": 1}, "beta_1"},
		{"FedYogi", strategy.Conf{"bias_correction": true}, "bias_correction"},
		{"QFedAvg", strategy.Conf{"qffl_learning_rate": 0}, "qffl_learning_rate"},
		{"FedTrimmedAvg", strategy.Conf{"beta": 0.6}, "beta"},
		{"Bulyan", strategy.Conf{"num_clients_to_keep": 1}, "num_clients_to_keep"},
		{"Krum", strategy.Conf{"num_malicious_clients": -1}, "num_malicious_clients"},
	} {
		made, err := strategy.New(c.name, c.conf)
		require.Nil(t, made)
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field, "%s %v", c.name, c.conf)
		require.Equal(t, c.field, field.Field)
		require.NotEmpty(t, field.Reason)
	}
}

func TestNew_acceptsNumbersAsText(t *testing.T) {
	made, err := strategy.New("FaultTolerantFedAvg", strategy.Conf{
		"fraction_fit": " 0.5 ", "min_fit_clients": json.Number("3"), "min_completion_rate_fit": float32(0.75), "fraction_evaluate": nil,
	})
	require.NoError(t, err)
	require.Equal(t, strategy.Policy{
		MinAvailable: 1,
		Fit:          strategy.Rule{Fraction: 0.5, MinClients: 3, MinCompletion: 0.75},
		Evaluate:     strategy.Rule{Fraction: 1, MinClients: 1, MinCompletion: 0.5},
	}, made.Policy())
}

func TestNew_hasTheDefaultsOfFlower(t *testing.T) {
	for _, name := range strategy.Names() {
		conf := strategy.Conf{}
		if name == "FedProx" {
			conf["proximal_mu"] = 0.1
		}
		made, err := strategy.New(name, conf)
		require.NoError(t, err)
		least, completion := 2, 0.0
		switch name {
		case "FaultTolerantFedAvg":
			least, completion = 1, 0.5
		case "QFedAvg":
			least = 1
		}
		rule := strategy.Rule{Fraction: 1, MinClients: least, MinCompletion: completion}
		require.Equal(t, strategy.Policy{MinAvailable: least, Fit: rule, Evaluate: rule}, made.Policy(), name)
		require.True(t, strategy.Known(name))
	}
	require.False(t, strategy.Known("fedavg"))
}

func TestPolicy_samplesAFractionButAtLeastTheMinimum(t *testing.T) {
	p := strategy.Policy{Fit: strategy.Rule{Fraction: 0.3, MinClients: 2}, Evaluate: strategy.Rule{MinClients: 2}}
	for available, want := range map[int]int{0: 2, 6: 2, 9: 2, 10: 3, 19: 5} {
		require.Equal(t, want, p.Sample(strategy.Fit, available))
		require.Zero(t, p.Sample(strategy.Evaluate, available))
	}
}

func TestPolicy_countsFailures(t *testing.T) {
	p := strategy.Policy{Fit: strategy.Rule{MinCompletion: 0.5}, Evaluate: strategy.Rule{RefuseFailures: true}}
	require.NoError(t, p.Accept(strategy.Fit, 2, 2))
	require.ErrorContains(t, p.Accept(strategy.Fit, 2, 3), "fit has 2 results of 5, min_completion_rate_fit is 0.5")
	require.NoError(t, p.Accept(strategy.Evaluate, 1, 0))
	require.ErrorContains(t, p.Accept(strategy.Evaluate, 9, 1), "accept_failures is false")
	require.ErrorIs(t, p.Accept(strategy.Fit, 0, 0), strategy.ErrTooFew)
}

func TestNew_fedProxSendsTheProximalTermToFitOnly(t *testing.T) {
	made, err := strategy.New("FedProx", strategy.Conf{"proximal_mu": "0.25"})
	require.NoError(t, err)
	fit, evaluate := map[string]any{}, map[string]any{}
	made.Configure(strategy.Fit, 1, fit)
	made.Configure(strategy.Evaluate, 1, evaluate)
	require.Equal(t, map[string]any{"proximal_mu": 0.25}, fit)
	require.Empty(t, evaluate)
}

func TestNew_bulyanRequiresEnoughClients(t *testing.T) {
	made, err := strategy.New("Bulyan", strategy.Conf{"num_malicious_clients": 1})
	require.NoError(t, err)
	round, err := made.Begin(strategy.Round{Model: model(0), Dir: t.TempDir()})
	require.NoError(t, err)
	defer round.Close()
	for k := range 6 {
		require.NoError(t, round.Add(t.Context(), strategy.Update{Client: fmt.Sprint(k), Examples: 1, Model: model(1)}))
	}
	_, err = round.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
	require.ErrorContains(t, err, "6, the rule needs 7")
}

func TestNew_qFedAvgRequiresALoss(t *testing.T) {
	made, err := strategy.New("QFedAvg", nil)
	require.NoError(t, err)
	round, err := made.Begin(strategy.Round{Model: model(0)})
	require.NoError(t, err)
	defer round.Close()
	update := strategy.Update{Client: "a", Examples: 1, Model: model(1)}
	require.ErrorContains(t, round.Add(t.Context(), update), `no metric "loss"`)
	update.Metrics = map[string]any{"loss": -1.0}
	require.ErrorIs(t, round.Add(t.Context(), update), strategy.ErrQuarantined)
	update.Metrics = map[string]any{"loss": 2.0}
	require.NoError(t, round.Add(t.Context(), update))
}

func TestMeanMetrics_averagesOverTheReportsThatHaveAMetric(t *testing.T) {
	reports := []strategy.Report{
		{Client: "b", Examples: 30, Metrics: map[string]any{"accuracy": 0.5, "name": "x", "loss": math.NaN(), "ok": true}},
		{Client: "a", Examples: 10, Metrics: map[string]any{"accuracy": int64(1), "loss": 2.0, "ok": false}},
		{Client: "c", Examples: 0, Metrics: map[string]any{"accuracy": 100.0}},
	}
	means, notes := strategy.MeanMetrics(reports)
	require.Equal(t, map[string]float64{"accuracy": 0.625, "loss": 2, "ok": 0.75}, means)
	require.Equal(t, []string{
		`metric "accuracy" is without c (num_examples is 0)`,
		`metric "loss" is without b (it is NaN), c (not sent)`,
		`metric "name" is without a (not sent), b (of type string), c (not sent)`,
		`metric "ok" is without c (not sent)`,
	}, notes)
	reports[0], reports[2] = reports[2], reports[0]
	again, _ := strategy.MeanMetrics(reports)
	require.Equal(t, means, again)
}

func TestMeanMetrics_keepsNotesShort(t *testing.T) {
	var reports []strategy.Report
	for client := range 2000 {
		metrics := map[string]any{"first": 1.0}
		for k := range 200 { // names of its own
			metrics[fmt.Sprintf("m%d-%d", client, k)] = 1.0
		}
		if client > 0 {
			delete(metrics, "first")
		}
		reports = append(reports, strategy.Report{Client: fmt.Sprintf("c%04d", client), Examples: 1, Metrics: metrics})
	}
	means, notes := strategy.MeanMetrics(reports)
	require.Len(t, means, 1+2000*200)
	require.Len(t, notes, 100)
	require.Contains(t, notes[0], `metric "first" is without c0001 (not sent), c0002 (not sent)`)
	require.True(t, strings.HasSuffix(notes[0], " and 1989 more"), notes[0])
}
