package dp_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestCheck_namesSettingsWithoutPrivacy(t *testing.T) {
	for _, c := range []struct {
		conf   strategy.Conf
		field  string
		reason string
	}{
		{strategy.Conf{}, "num_sampled_clients", "is required"},
		{strategy.Conf{"num_sampled_clients": 0}, "num_sampled_clients", "between 1 and"},
		{strategy.Conf{"num_sampled_clients": 2.5}, "num_sampled_clients", "whole"},
		{strategy.Conf{"num_sampled_clients": true}, "num_sampled_clients", "no number"},
		{strategy.Conf{"num_sampled_clients": 1}, "noise_multiplier", "complex"},
		{strategy.Conf{"num_sampled_clients": 10}, "noise_multiplier", "infinite"},
		{strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 0}, "noise_multiplier", "zero"},
		{strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 1e-300}, "noise_multiplier", "zero"},
		{strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": -1}, "noise_multiplier", "between"},
		{strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": math.NaN()}, "noise_multiplier", "no number"},
		{strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": "0x1p3"}, "noise_multiplier", "no number"},
		{strategy.Conf{"num_sampled_clients": 100, "clip_count_stddev": 0}, "noise_multiplier", "complex"},
		{strategy.Conf{"num_sampled_clients": 100, "clip_count_stddev": -3}, "clip_count_stddev", "between"},
		{strategy.Conf{"num_sampled_clients": 100, "init_clip_norm": 0}, "init_clip_norm", "between"},
		{strategy.Conf{"num_sampled_clients": 100, "clip_norm_target_quantile": 1.1}, "clip_norm_target_quantile", "between"},
		{strategy.Conf{"num_sampled_clients": 100, "clip_norm_lr": -0.1}, "clip_norm_lr", "between"},
		{strategy.Conf{"num_sampled_clients": 100, "server_side_noising": "perhaps"}, "server_side_noising", "truth"},
		{strategy.Conf{"num_sampled_clients": 100, "delta": 0}, "delta", "greater"},
		{strategy.Conf{"num_sampled_clients": 100, "delta": 1}, "delta", "less"},
		{strategy.Conf{"num_sampled_clients": 100, "sampling_rate": 0}, "sampling_rate", "greater"},
		{strategy.Conf{"num_sampled_clients": 100, "epsilon_budget": 0}, "epsilon_budget", "greater"},
		{strategy.Conf{"num_sampled_clients": 100, "epsilon_budget": 1}, "epsilon_budget", "does not afford one round"},
		{strategy.Conf{"num_sampled_clients": 100, "noise_multipler": 5}, "noise_multipler", "unknown here"},
	} {
		fedAvg, err := strategy.New("FedAvg", nil)
		require.NoError(t, err)
		made, err := dp.New(fedAvg, c.conf, nil)
		require.Nil(t, made)
		require.Equal(t, err, dp.Check("FedAvg", c.conf))
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field, "%v", c.conf)
		require.Equal(t, c.field, field.Field, "%v", err)
		require.Equal(t, "dp-adaptive", field.Strategy)
		require.ErrorContains(t, err, c.reason, "%v", c.conf)
	}
}

func TestCheck_refusesRulesThatCompareClients(t *testing.T) {
	for _, name := range strategy.Names() {
		err := dp.Check(name, strategy.Conf{"num_sampled_clients": 100})
		switch name {
		case "FedMedian", "FedTrimmedAvg", "Krum", "MultiKrum", "Bulyan", "QFedAvg":
			var field *strategy.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, name, field.Strategy)
		default:
			require.NoError(t, err)
		}
	}
}

func TestNew_hasTheDefaultsOfTheOriginal(t *testing.T) {
	private := wrap(t, "FedAvg", nil,
		strategy.Conf{"num_sampled_clients": json.Number("40"), "clip_count_stddev": nil, "delta": "1e-5"})
	p := private.Privacy()
	require.True(t, math.IsNaN(p.Fraction))
	p.Fraction = 0
	require.Equal(t, dp.Privacy{Delta: 1e-5, Budget: math.Inf(1), ClipNorm: 0.1, Multiplier: 1 / math.Sqrt(1-1./16)}, p)
	fit := map[string]any{}
	private.Configure(strategy.Fit, 1, fit)
	require.NotContains(t, fit, "dpfedavg_noise_stddev", "the server adds the noise")
	require.True(t, private.Affords(1_000_000))
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"num_sampled_clients": 100}`)
	f.Add(`{"num_sampled_clients": "20", "noise_multiplier": 0.5, "server_side_noising": "off", ` +
		`"clip_count_stddev": null}`)
	f.Add(`{"num_sampled_clients": 1, "noise_multiplier": 1e-320, "clip_count_stddev": 1e300}`)
	f.Add(`{"num_sampled_clients": 9, "delta": 1e-300, "epsilon_budget": 1e9, "sampling_rate": 0.001, ` +
		`"noise_multiplier": 1e-6}`)
	f.Add(`{"num_sampled_clients": 1e9, "init_clip_norm": [], "clip_norm_lr": {}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var conf strategy.Conf
		if json.Unmarshal([]byte(text), &conf) != nil {
			return
		}
		fedAvg, err := strategy.New("FedAvg", nil)
		require.NoError(t, err)
		made, err := dp.New(fedAvg, conf, nil)
		if err != nil {
			var field *strategy.FieldError
			require.ErrorAs(t, err, &field)
			return
		}
		p := made.Privacy()
		require.Greater(t, p.Multiplier, 0.)
		require.False(t, math.IsInf(p.Multiplier, 0) || math.IsNaN(p.Multiplier))
		require.True(t, made.Affords(1))
		require.NoError(t, made.Restore(made.State()))
	})
}
