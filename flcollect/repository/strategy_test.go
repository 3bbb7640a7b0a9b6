package repository_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// load is a loader of files that hold the name of a built-in strategy.
func load(_ context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error) {
	if !strategy.Known(string(file)) {
		return nil, fmt.Errorf("%w: %s is %q", flcollect.ErrNoStrategy, name, file)
	}
	return strategy.New(string(file), conf)
}

// withLoader runs a test over a store and over a client of it.
func withLoader(t *testing.T, test func(t *testing.T, repo flcollect.Repository, r rest)) {
	t.Helper()
	for _, kind := range []string{"store", "client"} {
		t.Run(kind, func(t *testing.T) {
			store, err := repository.New(repository.Config{
				Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Strategies: load, MaxStrategy: 20,
			})
			require.NoError(t, err)
			handler := repository.NewHandler(store, nil)
			var repo flcollect.Repository = store
			if kind == "client" {
				repo = client(t, repository.ClientConfig{BaseURL: serve(t, handler), Strategies: load, MaxStrategy: 20})
			}
			test(t, repo, rest{t, handler})
		})
	}
}

// putStrategy keeps a strategy with a file.
func putStrategy(r rest, name, meta, file string) {
	r.is(201, `null`, r.json("POST", "/strategy", `{"strategy_name":"`+name+`"`+meta+`}`))
	r.is(204, "", r.put("/strategy/"+name, "file", file))
}

func TestStore_Strategy_loadsAFileWithoutAClass(t *testing.T) {
	withLoader(t, func(t *testing.T, repo flcollect.Repository, r rest) {
		putStrategy(r, "ours", `,"meta":{"author":"a person"}`, "FedMedian")
		made, err := repo.Strategy(t.Context(), "ours", strategy.Conf{"min_fit_clients": 7})
		require.NoError(t, err)
		require.Equal(t, 7, made.Policy().Fit.MinClients)

		var field *strategy.FieldError
		_, err = repo.Strategy(t.Context(), "ours", strategy.Conf{"eta": 1})
		require.ErrorAs(t, err, &field)
		require.Equal(t, "eta", field.Field)

		putStrategy(r, "both", `,"meta":{"class":"FedAvg"}`, "no strategy")
		_, err = repo.Strategy(t.Context(), "both", nil)
		require.NoError(t, err, "the class is what counts")
	})
}

func TestStore_Strategy_refusesAFileThatIsNoStrategy(t *testing.T) {
	withLoader(t, func(t *testing.T, repo flcollect.Repository, r rest) {
		putStrategy(r, "bad", "", "rm -rf")
		_, err := repo.Strategy(t.Context(), "bad", nil)
		require.ErrorIs(t, err, flcollect.ErrNoStrategy)
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, strategy.FieldError{Strategy: "bad", Field: "strategy",
			Reason: `its file in the repository cannot be used: bad is "rm -rf"`}, *field)

		putStrategy(r, "large", "", "FedAvg and much more than twenty bytes")
		_, err = repo.Strategy(t.Context(), "large", nil)
		require.ErrorIs(t, err, flcollect.ErrNoStrategy)
		require.ErrorAs(t, err, &field)
		require.Equal(t, "large", field.Strategy)
		require.Equal(t, "its file in the repository has more than 20 bytes", field.Reason)
	})
}

func TestStore_Strategy_doesNotTakeAFailureAsMissing(t *testing.T) {
	status := http.StatusBadGateway
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/strategy" {
			_, _ = w.Write([]byte(`[{"strategy_name":"s","strategy_id":"1"}]`))
			return
		}
		w.WriteHeader(status)
	}))
	repo := client(t, repository.ClientConfig{BaseURL: url, Strategies: load})
	_, err := repo.Strategy(t.Context(), "s", nil)
	require.ErrorContains(t, err, "502")
	require.NotErrorIs(t, err, flcollect.ErrNoStrategy)

	status = http.StatusNotFound
	_, err = repo.Strategy(t.Context(), "s", nil)
	require.ErrorIs(t, err, flcollect.ErrNoStrategy)
}

func TestNew_refusesInvalidLimits(t *testing.T) {
	_, err := repository.NewClient(repository.ClientConfig{BaseURL: "http://localhost", MaxStrategy: -1})
	require.ErrorContains(t, err, "MaxStrategy")
	_, err = repository.New(repository.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), MaxStrategy: -1})
	require.ErrorContains(t, err, "MaxStrategy")
}

func TestClient_Strategy_needsOnlyFiles(t *testing.T) {
	store := memory(t)
	handler := repository.NewHandler(store, nil)
	putStrategy(rest{t, handler}, "ours", "", "FedMedian")
	bare := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/strategy" {
			w.WriteHeader(http.StatusNotImplemented) // only what the original collector asks for is there
			return
		}
		handler.ServeHTTP(w, r)
	}))
	loads := client(t, repository.ClientConfig{BaseURL: bare, Strategies: load})
	made, err := loads.Strategy(t.Context(), "ours", strategy.Conf{"min_fit_clients": 7})
	require.NoError(t, err)
	require.Equal(t, 7, made.Policy().Fit.MinClients)
	_, err = loads.Strategy(t.Context(), "missing", nil)
	require.ErrorIs(t, err, flcollect.ErrNoStrategy)
	_, err = client(t, repository.ClientConfig{BaseURL: bare}).Strategy(t.Context(), "ours", nil)
	require.ErrorIs(t, err, flcollect.ErrNoStrategy)
}

func TestStore_Strategy_needsALoader(t *testing.T) {
	store := memory(t)
	handler := repository.NewHandler(store, nil)
	putStrategy(rest{t, handler}, "ours", "", "FedMedian")
	for _, from := range []flcollect.Repository{store, client(t, repository.ClientConfig{BaseURL: serve(t, handler)})} {
		_, err := from.Strategy(t.Context(), "ours", nil)
		require.ErrorIs(t, err, flcollect.ErrNoStrategy)
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, `files of strategies are not loaded here; name a built-in one as "class" in its meta`, field.Reason)
	}
}
