package collector

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func reach(t *testing.T, address string) (*remote, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	r, err := newRemote(repository.ClientConfig{BaseURL: address, Dir: t.TempDir()}, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	r.patience = 10 * time.Millisecond
	return r, &log
}

func TestRemote_beginsATrainingWhileTheRepositoryIsAway(t *testing.T) {
	r, log := reach(t, "http://127.0.0.1:1") // where nothing listens
	_, err := r.Model(t.Context(), "m", "1")
	require.ErrorIs(t, err, flcollect.ErrNoModel)
	require.Contains(t, log.String(), "the repository does not answer")
	require.ErrorIs(t, r.Store(t.Context(), flcollect.Result{ModelName: "m", ModelVersion: "1", TrainingID: "t", ConfigurationID: "1"}),
		repository.ErrUnavailable, "a result goes on waiting")
}

func TestRemote_readsTheModelWhenTheRepositoryIsBackInTime(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 { // the model, and what is known of it
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(bytes.Join(tensor.Encode(tensor.FromFloat64s([]float64{7})), nil))
	}))
	defer server.Close()
	r, log := reach(t, server.URL)
	r.patience = time.Minute
	model, err := r.Model(t.Context(), "m", "1")
	require.NoError(t, err)
	require.Equal(t, []float64{7}, model[0].Float64s())
	require.Empty(t, log.String())
}

func TestRemote_failsForAModelThatBreaksOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("\x93NUMPY"))
	}))
	defer server.Close()
	r, _ := reach(t, server.URL)
	_, err := r.Model(t.Context(), "m", "1")
	require.Error(t, err)
	require.NotErrorIs(t, err, flcollect.ErrNoModel)
}
