package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
	"github.com/iotenablers/enablers/storage"
)

func stored(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile("../../../flcollect/strategy/" + name)
	require.NoError(t, err)
	return file
}

func TestLoadStrategy_loadsModulesAndPickledStrategies(t *testing.T) {
	made, err := loadStrategy(t.Context(), "momentum", stored(t, "wasm/testdata/c/momentum.wasm"), strategy.Conf{"momentum": "0.5"})
	require.NoError(t, err)
	require.IsType(t, &wasm.Strategy{}, made)
	require.Equal(t, 3, made.Policy().Fit.MinClients)

	var known struct {
		Cases []struct {
			Protocol int
			Pickle   []byte
		}
	}
	require.NoError(t, json.Unmarshal(stored(t, "pickle/testdata/flower-1.3.0.json"), &known))
	for _, c := range known.Cases[:5] {
		made, err := loadStrategy(t.Context(), "pickled", c.Pickle, strategy.Conf{"min_fit_clients": 9})
		require.NoError(t, err)
		require.Equal(t, 9, made.Policy().Fit.MinClients)
	}
}

func TestLoadStrategy_refusesOtherFilesForGood(t *testing.T) {
	bad := stored(t, "wasm/testdata/c/bad.wasm")
	for name, c := range map[string]struct {
		file []byte
		conf strategy.Conf
		says string
	}{
		"text":                {[]byte("import os"), nil, "neither a WebAssembly module nor a pickled strategy"},
		"a broken module":     {bad[:100], nil, "module refused"},
		"a module that traps": {bad, strategy.Conf{"where": "setup", "what": "trap"}, "unreachable"},
	} {
		_, err := loadStrategy(t.Context(), name, c.file, c.conf)
		require.ErrorIs(t, err, flcollect.ErrNoStrategy, name)
		require.ErrorContains(t, err, c.says)
	}
	var field *strategy.FieldError
	_, err := loadStrategy(t.Context(), "bad", bad, strategy.Conf{"eta": 1})
	require.ErrorAs(t, err, &field)
	require.NotErrorIs(t, err, flcollect.ErrNoStrategy)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = loadStrategy(ctx, "bad", bad, nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, flcollect.ErrNoStrategy, "another try may succeed")
}

// request has a handler answer a request.
func request(t *testing.T, handler http.Handler, method, path, kind string, body []byte) {
	t.Helper()
	recorder := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	req.Header.Set("Content-Type", kind)
	handler.ServeHTTP(recorder, req)
	require.Less(t, recorder.Code, 300, recorder.Body.String())
}

// put keeps a strategy that is a file.
func put(t *testing.T, handler http.Handler, name string, file []byte) {
	t.Helper()
	request(t, handler, http.MethodPost, "/strategy", "application/json", []byte(`{"strategy_name":"`+name+`"}`))
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", "strategy")
	require.NoError(t, err)
	_, err = part.Write(file)
	require.NoError(t, err)
	require.NoError(t, parts.Close())
	request(t, handler, http.MethodPut, "/strategy/"+url.PathEscape(name), parts.FormDataContentType(), form.Bytes())
}

func TestCollector_selectsAStrategyInAFileByItsName(t *testing.T) {
	store, err := repository.New(repository.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Strategies: loadStrategy,
	})
	require.NoError(t, err)
	handler := repository.NewHandler(store, nil)
	for _, name := range []string{"FaultTolerantFedAvg", "refused-function", "refused-own", "refused-number", "refused-list"} {
		put(t, handler, "my "+name, stored(t, "pickle/testdata/strategies/"+name+".pkl"))
	}
	put(t, handler, "momentum", stored(t, "wasm/testdata/c/momentum.wasm"))
	put(t, handler, "text", []byte("import os"))
	whole := httptest.NewServer(handler)
	t.Cleanup(whole.Close)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/strategy" {
			w.WriteHeader(http.StatusNotImplemented) // only what the original collector asks for is there
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(bare.Close)
	near, _ := reach(t, whole.URL)
	far, _ := reach(t, bare.URL)
	for _, from := range []flcollect.Repository{store, near, far} {
		made, err := from.Strategy(t.Context(), "my FaultTolerantFedAvg", strategy.Conf{"min_fit_clients": 5})
		require.NoError(t, err)
		require.InDelta(t, 0.7, made.Policy().Fit.MinCompletion, 0)
		require.Equal(t, 5, made.Policy().Fit.MinClients, "that of the job")
		require.Equal(t, 300, made.Policy().Evaluate.MinClients, "its own")

		made, err = from.Strategy(t.Context(), "momentum", strategy.Conf{"momentum": 0.5})
		require.NoError(t, err)
		require.IsType(t, &wasm.Strategy{}, made)

		for name, why := range map[string]string{
			"my refused-function": "on_fit_config_fn", "my refused-own": "__main__.Own", "my refused-number": "fraction_fit",
			"my refused-list": "no strategy of Flower", "text": "neither a WebAssembly module nor a pickled strategy",
		} {
			_, err := from.Strategy(t.Context(), name, nil)
			require.ErrorIs(t, err, flcollect.ErrNoStrategy)
			var field *strategy.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, "strategy", field.Field)
			require.Contains(t, field.Reason, why)
		}
		_, err = from.Strategy(t.Context(), "absent", nil)
		require.ErrorIs(t, err, flcollect.ErrNoStrategy)
	}
}
