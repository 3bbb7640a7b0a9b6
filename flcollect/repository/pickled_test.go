package repository_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// pickle is a file that testdata/strategies/make.py has made.
func pickle(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "strategies", name+".pkl"))
	require.NoError(t, err)
	return data
}

func TestPickledStrategiesOfFlowerAreReadWithTheirParameters(t *testing.T) {
	for name, own := range map[string]strategy.Conf{
		"FedAvg-2": {}, "FedAvg-3": {}, "FedAvg-4": {}, "FedAvg-5": {}, "FedMedian": {},
		"FaultTolerantFedAvg": {"min_completion_rate_fit": 0.7, "min_completion_rate_evaluate": 0.8},
		"FedAvgM":             {"server_learning_rate": 0.5, "server_momentum": 0.9},
		"QFedAvg":             {"q_param": 0.3, "qffl_learning_rate": 0.2},
		"FedProx":             {"proximal_mu": 0.5},
		"FedAdam":             {"eta": 0.2, "eta_l": 0.1, "tau": 1e-9, "beta_1": 0.9, "beta_2": 0.99},
		"FedYogi":             {"eta": 0.2, "eta_l": 0.0316, "tau": 1e-3, "beta_1": 0.9, "beta_2": 0.99},
		"FedAdagrad":          {"eta": 0.2, "eta_l": 0.1, "tau": 1e-9},
		"FedTrimmedAvg":       {"beta": 0.1},
		"Krum":                {"num_malicious_clients": int64(1), "num_clients_to_keep": int64(2)},
		"Bulyan":              {"num_malicious_clients": int64(1)},
	} {
		class, conf, err := repository.ReadPickled(bytes.NewReader(pickle(t, name)))
		require.NoError(t, err, name)
		require.Equal(t, strings.TrimRight(name, "-2345"), class)
		for field, v := range map[string]any{
			"fraction_fit": 0.5, "fraction_evaluate": 1.0, "min_fit_clients": int64(3), "min_evaluate_clients": int64(300), "min_available_clients": int64(70_000),
		} {
			own[field] = v
		}
		if class != "FaultTolerantFedAvg" {
			own["accept_failures"] = class != "FedAvg"
		}
		require.Equal(t, own, conf, name)
		_, err = strategy.New(class, conf)
		require.NoError(t, err, name)
	}
}

func TestAPickledStrategyIsSelectedByItsNameInEitherRepository(t *testing.T) {
	store := memory(t)
	handler := repository.NewHandler(store, nil)
	r := rest{t, handler}
	for _, name := range []string{"FaultTolerantFedAvg", "refused-function", "refused-own", "refused-number", "refused-list"} {
		r.is(201, `null`, r.json("POST", "/strategy", `{"strategy_name":"my `+name+`"}`))
		r.is(204, "", r.put("/strategy/my%20"+name, "file", string(pickle(t, name))))
	}
	bare := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/strategy" {
			w.WriteHeader(http.StatusNotImplemented) // only what the original collector asks for is there
			return
		}
		handler.ServeHTTP(w, r)
	}))
	for _, from := range []flcollect.Repository{
		store, client(t, repository.ClientConfig{BaseURL: serve(t, handler)}), client(t, repository.ClientConfig{BaseURL: bare}),
	} {
		made, err := from.Strategy(t.Context(), "my FaultTolerantFedAvg", strategy.Conf{"min_fit_clients": 5})
		require.NoError(t, err)
		require.InDelta(t, 0.7, made.Policy().Fit.MinCompletion, 0)
		require.Equal(t, 5, made.Policy().Fit.MinClients, "that of the job")
		require.Equal(t, 300, made.Policy().Evaluate.MinClients, "its own")

		for name, why := range map[string]string{
			"my refused-function": "on_fit_config_fn", "my refused-own": "__main__.Own", "my refused-number": "fraction_fit",
			"my refused-list": "no strategy of Flower",
		} {
			_, err := from.Strategy(t.Context(), name, nil)
			require.ErrorIs(t, err, flcollect.ErrNoStrategy)
			var field *strategy.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, "strategy", field.Field)
			require.Contains(t, field.Reason, why)
		}
		_, err = from.Strategy(t.Context(), "nobody", nil)
		require.ErrorIs(t, err, flcollect.ErrNoStrategy)
	}
}

func TestPicklesThatBreakOffOrNeverEndAreRefused(t *testing.T) {
	whole := pickle(t, "FedAdam")
	for n := range whole {
		_, _, err := repository.ReadPickled(bytes.NewReader(whole[:n]))
		require.Error(t, err, "cut at %d", n)
	}
	for _, text := range []string{
		"", ".", "hello", "\x80\x04N.", strings.Repeat("N", 200_000), "\x8e\xff\xff\xff\xff\xff\xff\xff\xff", "b", "Nb", "\x93", "h\x00", "u", "(u", "\x94", "s", "a", "\x85", "t",
		"c" + strings.Repeat("x", 100_000), "cos\nsystem\n(X\x01\x00\x00\x00xtR.", "\x8d\x00\x00\x00\x00\x00\x00\x00\x80",
	} {
		_, _, err := repository.ReadPickled(strings.NewReader(text))
		require.Error(t, err, "%.20q", text)
	}
}

func FuzzReadPickled(f *testing.F) {
	for _, name := range []string{"FedAvg-2", "FedAdam", "refused-list", "refused-number", "FedAvgM"} {
		f.Add(pickle(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		class, conf, err := repository.ReadPickled(bytes.NewReader(data))
		if err == nil {
			require.True(t, strategy.Known(class))
			require.NotNil(t, conf)
		}
	})
}
