package pickle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/pickle"
)

// named is a file that testdata/strategies/make.py has made.
func named(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "strategies", name+".pkl"))
	require.NoError(t, err)
	return data
}

func TestRead_readsTheParametersOfFlowerStrategies(t *testing.T) {
	for name, own := range map[string]strategy.Conf{
		"FedAvg-2": {}, "FedAvg-3": {}, "FedAvg-4": {}, "FedAvg-5": {}, "FedMedian": {},
		"FaultTolerantFedAvg": {"min_completion_rate_fit": 0.7, "min_completion_rate_evaluate": 0.8},
		"FedAvgM":             {"server_learning_rate": 0.5, "server_momentum": 0.9},
		"QFedAvg":             {"q_param": 0.3, "qffl_learning_rate": 0.2},
		"FedProx":             {"proximal_mu": 0.5},
		"FedAdam":             {"eta": 0.2, "eta_l": 0.1, "tau": 1e-9, "beta_1": 0.9, "beta_2": 0.99},
		"FedYogi":             {"eta": 0.2, "eta_l": 0.0316, "tau": 1e-3, "beta_1": 0.9, "beta_2": 0.99},
		"FedAdagrad":          {"eta": 0.2, "eta_l": 0.1, "tau": 1e-9},
		"FedAdam-app":         {"eta": 0.2, "eta_l": 0.1, "tau": 1e-3, "beta_1": 0.9, "beta_2": 0.99, "bias_correction": true},
		"FedTrimmedAvg":       {"beta": 0.1},
		"Krum":                {"num_malicious_clients": int64(1), "num_clients_to_keep": int64(2)},
		"Bulyan":              {"num_malicious_clients": int64(1)},
	} {
		got, err := pickle.Read(named(t, name))
		require.NoError(t, err, name)
		class, _, _ := strings.Cut(name, "-")
		require.Equal(t, class, got.Name)
		for field, v := range map[string]any{
			"fraction_fit": 0.5, "fraction_evaluate": 1.0, "min_fit_clients": int64(3), "min_evaluate_clients": int64(300),
			"min_available_clients": int64(70_000),
		} {
			own[field] = v
		}
		if got.Name != "FaultTolerantFedAvg" && name != "FedAdam-app" {
			own["accept_failures"] = got.Name != "FedAvg"
		}
		require.Equal(t, own, got.Conf, name)
		_, err = got.Strategy(nil)
		require.NoError(t, err, name)
	}
}

func TestRead_refusesTruncatedAndEndlessPickles(t *testing.T) {
	whole := named(t, "FedAdam")
	for n := range whole {
		_, err := pickle.Read(whole[:n])
		require.ErrorIs(t, err, pickle.ErrRefused, "cut at %d", n)
	}
	for _, text := range []string{
		"", ".", "hello", "\x80\x04N.", strings.Repeat("N",
			200_000), "\x8e\xff\xff\xff\xff\xff\xff\xff\xff", "b", "Nb", "\x93", "h\x00", "u", "(u", "\x94", "s", "a", "\x85", "t",
		"c" + strings.Repeat("x", 100_000), "cos\nsystem\n(X\x01\x00\x00\x00xtR.", "\x8d\x00\x00\x00\x00\x00\x00\x00\x80",
	} {
		_, err := pickle.Read([]byte(text))
		require.ErrorIs(t, err, pickle.ErrRefused, "%.20q", text)
	}
}
