package jobform_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/jobform"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestForm_Own_hasDefaultsAndBounds(t *testing.T) {
	adam, ok := strategy.Describe("FedAdam")
	require.True(t, ok)
	f := jobform.New(url.Values{"conf.FedAdam.beta_1": {"0.5"}}, []strategy.Description{adam})
	require.Nil(t, f.Own(adam).Find("conf.FedAdam.fraction_fit"), "what all strategies have is not their own")
	field := f.Own(adam).Find("conf.FedAdam.beta_1")
	require.Equal(t, "0.5", field.Value)
	require.Equal(t, "0.9", field.Placeholder)
	require.Equal(t, []string{"0", "1"}, []string{field.Low, field.High})
}

// A fault of a value that has no field, or whose field has one already, is not lost.
func TestForm_Blame_losesNoFault(t *testing.T) {
	f := jobform.New(url.Values{"strategy": {"avg"}}, nil)
	f.Blame([]jobconfig.Fault{
		{Path: []any{"model_name"}, Kind: jobconfig.Missing},
		{Path: []any{"model_name"}, Kind: jobconfig.TooLong, Bound: "9"},
		{Path: []any{"adapt_config"}, Kind: jobconfig.NotText},
		{Path: []any{"strategy_conf", "min_fit_clients"}, Kind: jobconfig.Invalid, Reason: "0 is less than 1"},
	})
	require.Equal(t, map[string]string{"model_name": "The value is required.", "clients": "0 is less than 1."}, f.Faults())
	require.Equal(t, "model_name: The value has more than 9 characters. adapt_config: The value is not text.", f.Fault)
}

func TestForm_Config_readsCompression(t *testing.T) {
	f := jobform.New(url.Values{"strategy": {"FedAvg"}, "model_name": {"m"}, "model_version": {"1"}, "configuration_id": {"1"},
		"client.epochs": {"1"}, "compression": {"int8, topk"}}, nil)
	config, err := f.Config()
	require.NoError(t, err)
	require.Equal(t, []string{"int8", "topk"}, config.Compression)
	again, err := jobform.Values(config)
	require.NoError(t, err)
	require.Equal(t, "int8, topk", again.Get("compression"))

	again.Set("compression", "zip")
	f = jobform.New(again, nil)
	_, err = f.Config()
	var faults *jobconfig.Error
	require.ErrorAs(t, err, &faults)
	f.Blame(faults.Faults)
	require.Contains(t, f.Faults()["compression"], `Unknown kind of compression "zip"`)
}

// The number of clients is no least number of a draw by chance.
func TestForm_Config_readsASamplingRate(t *testing.T) {
	f := jobform.New(url.Values{"strategy": {"FedAvg"}, "model_name": {"m"}, "model_version": {"1"}, "configuration_id": {"1"},
		"client.epochs": {"1"}, "clients": {"40"}, "dp": {"1"}, "dp.sampling_rate": {"0.5"}, "dp.num_sampled_clients": {"20"},
		"dp.clip_count_stddev": {"2"}}, nil)
	config, err := f.Config()
	require.NoError(t, err)
	require.Equal(t, 0.5, config.DPAdaptive["sampling_rate"])
	require.Equal(t, strategy.Conf{"min_available_clients": int64(40), "min_evaluate_clients": int64(40)}, config.StrategyConf)
}
