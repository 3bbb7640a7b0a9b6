package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/orchestrator"
	"github.com/iotenablers/enablers/flcollect/report"
)

func newClient(t *testing.T, handler http.HandlerFunc) *orchestrator.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := orchestrator.NewClient(orchestrator.Config{BaseURL: server.URL + "/base/"})
	require.NoError(t, err)
	return client
}

var (
	round = report.RoundDone{ModelName: "base", ModelVersion: "v1", Round: 3}
	end   = report.EarlyEnd{ModelName: "base", ModelVersion: "v1", Round: 3, Metric: "accuracy", Value: 0.91, Target: 0.9}
)

func TestClient_sendsRoundsAndEarlyEnds(t *testing.T) {
	var got []string
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
		_, _ = io.WriteString(w, `{"data":"Message sended to the UI"}`)
	})
	require.NoError(t, client.RoundDone(t.Context(), round))
	require.NoError(t, client.EarlyEnd(t.Context(), end))
	require.Equal(t, []string{
		`POST /base/FL_traininground application/json {"model_name":"base","model_version":"v1","round":3}`,
		`POST /base/FL_early_end application/json ` +
			`{"model_name":"base","model_version":"v1","round":3,"metric":"accuracy","value_achieved":0.91,"value_maximal":0.9}`,
	}, got)
}

func TestClient_RoundDone_saysWhetherToTryAgain(t *testing.T) {
	for status, refused := range map[int]bool{
		401: false, 403: false, 400: true, 404: true, 405: true, 422: true,
		302: false, 408: false, 425: false, 429: false, 500: false, 502: false, 503: false,
	} {
		var requests atomic.Int32
		client := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.Repeat("why not ", 10_000))
		})
		err := client.RoundDone(t.Context(), round)
		require.ErrorContains(t, err, `tell orchestrator "FL_traininground": `, status)
		require.ErrorContains(t, err, fmt.Sprint(status))
		require.ErrorContains(t, err, "why not")
		require.Less(t, len(err.Error()), 5000, "the answer was not bounded")
		require.Equal(t, refused, isRefused(err), "%d: %v", status, err)
		require.Equal(t, int32(1), requests.Load(), "status %d was not left to the caller", status)
	}
}

func isRefused(err error) bool { return errors.Is(err, flcollect.ErrRefused) }

func TestClient_RoundDone_followsARedirectThatKeepsTheBody(t *testing.T) {
	var body string
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			return
		}
		data, _ := io.ReadAll(r.Body)
		body = r.Method + " " + string(data)
	})
	require.NoError(t, client.RoundDone(t.Context(), round))
	require.Equal(t, `POST {"model_name":"base","model_version":"v1","round":3}`, body)
}

func TestClient_EarlyEnd_refusesNumbersThatJSONLacks(t *testing.T) {
	client := newClient(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	strange := end
	strange.Value = math.Inf(1)
	require.ErrorIs(t, client.EarlyEnd(t.Context(), strange), flcollect.ErrRefused)
}

func TestClient_RoundDone_endsWithTheTimeout(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	config := orchestrator.Config{BaseURL: "http://" + listener.Addr().String(), Timeout: 50 * time.Millisecond}
	client, err := orchestrator.NewClient(config)
	require.NoError(t, err)
	err = client.RoundDone(t.Context(), round)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, flcollect.ErrRefused)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, client.RoundDone(ctx, round), context.Canceled)
}

func TestClient_RoundDone_isRepeatableWithoutAnOrchestrator(t *testing.T) {
	client, err := orchestrator.NewClient(orchestrator.Config{BaseURL: "http://127.0.0.1:1"}) // where nothing listens
	require.NoError(t, err)
	err = client.RoundDone(t.Context(), round)
	require.Error(t, err)
	require.NotErrorIs(t, err, flcollect.ErrRefused)
}

func TestNewClient_namesInvalidFields(t *testing.T) {
	for field, config := range map[string]orchestrator.Config{
		"BaseURL": {}, "Config.BaseURL": {BaseURL: "ftp://host"}, "expected http": {BaseURL: "host:80"},
		"not a URL": {BaseURL: "http://u:secret@host\x7f"}, "Timeout": {BaseURL: "http://h", Timeout: -1},
	} {
		_, err := orchestrator.NewClient(config)
		require.ErrorContains(t, err, field)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestClient_RoundDone_sendsTheTokenToTheOrchestratorAlone(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if len(got) == 2 {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	client, err := orchestrator.NewClient(orchestrator.Config{BaseURL: server.URL, Token: "s3cret"})
	require.NoError(t, err)
	require.NoError(t, client.RoundDone(t.Context(), round))
	err = client.EarlyEnd(t.Context(), end)
	require.ErrorContains(t, err, "redirected to another server")
	require.NotContains(t, err.Error(), "s3cret")
	require.Equal(t, []string{"Bearer s3cret", "Bearer s3cret"}, got)
	require.False(t, reached)

	_, err = orchestrator.NewClient(orchestrator.Config{BaseURL: server.URL, Token: "s3 cret"})
	require.ErrorContains(t, err, "Config.Token: ")
	require.NotContains(t, err.Error(), "cret")
}
