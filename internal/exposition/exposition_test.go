package exposition_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestHandler_servesTheCollectorsAndTheProcess(t *testing.T) {
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total", Help: "Things."})
	handler := exposition.Handler(counter)
	counter.Add(3)
	w := httptest.NewRecorder()
	require.NoError(t, handler(w, httptest.NewRequest("GET", "/metrics", nil)))
	require.Contains(t, w.Body.String(), "\nthings_total 3\n")
	require.Contains(t, w.Body.String(), "\ngo_goroutines ")
	require.NotContains(t, w.Body.String(), "build_info{goversion=")
	require.Panics(t, func() { exposition.Handler(counter, counter) })
}

// room returns a handler with metrics and a few routes.
func room(metrics httpapi.HandlerFunc) http.Handler {
	answer := func(status int) httpapi.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(status)
			return nil
		}
	}
	return httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /metrics", Func: metrics},
		{Pattern: "GET /models/{name}", Func: answer(http.StatusOK)},
		{Pattern: "DELETE /models/{name}", Func: answer(http.StatusNotFound)},
		{Pattern: "GET /broken", Func: func(http.ResponseWriter, *http.Request) error { panic("broken") }},
	}, nil)
}

// ask sends a request with the instruments, if there are any.
func ask(t *testing.T, h http.Handler, instruments *httpapi.Instruments, method, path string) string {
	ctx := t.Context()
	if instruments != nil {
		ctx = httpapi.WithInstruments(ctx, instruments)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, nil))
	return w.Body.String()
}

func TestServe_countsRequestsByMethodRouteAndStatus(t *testing.T) {
	h := room(exposition.Handler())
	ask(t, h, nil, "GET", "/models/a")
	ask(t, h, nil, "GET", "/models/b/")
	ask(t, h, nil, "DELETE", "/models/secret")
	ask(t, h, nil, "BREW", "/models/secret")
	ask(t, h, nil, "GET", "/secret")
	ask(t, h, nil, "GET", "/broken")
	text := ask(t, h, nil, "GET", "/metrics")
	for _, line := range []string{
		`http_requests_total{method="GET",route="/models/{name}",status="200"} 2`,
		`http_requests_total{method="DELETE",route="/models/{name}",status="404"} 1`,
		`http_requests_total{method="other",route="other",status="405"} 1`,
		`http_requests_total{method="GET",route="other",status="404"} 1`,
		`http_requests_total{method="GET",route="/broken",status="500"} 1`,
		`http_request_duration_seconds_count{method="GET",route="/models/{name}",status="200"} 2`,
		`http_request_duration_seconds_bucket{method="GET",route="/models/{name}",status="200",le="+Inf"} 2`,
		`http_requests_open{method="GET",route="/models/{name}"} 0`,
		`http_requests_open{method="GET",route="/metrics"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.NotContains(t, text, "secret", "what clients choose is not a label")
	require.NotContains(t, text, "BREW")
}

func TestServe_countsAllHandlersOfAProcessTogether(t *testing.T) {
	one, two := room(exposition.Handler()), room(exposition.Handler())
	process := &httpapi.Instruments{Command: "multi-link", Version: "v1.2.3", Traffic: &httpapi.Traffic{}}
	ask(t, one, process, "GET", "/models/a")
	ask(t, two, process, "GET", "/models/a")
	for _, h := range []http.Handler{one, two} {
		text := ask(t, h, process, "GET", "/metrics")
		require.Contains(t, text, `http_requests_total{method="GET",route="/models/{name}",status="200"} 2`)
		require.Regexp(t, `multi_link_build_info{goversion="go[^"]+",version="v1.2.3"} 1\n`, text)
	}
}

func TestServe_leavesMetricsOfTheGathererAsTheyAre(t *testing.T) {
	registry := prometheus.NewRegistry()
	theirs := prometheus.NewCounter(prometheus.CounterOpts{Name: "http_requests_total", Help: "Theirs."})
	registry.MustRegister(theirs)
	h := room(exposition.Serve(registry))
	ask(t, h, nil, "GET", "/models/a")
	text := ask(t, h, nil, "GET", "/metrics")
	require.Contains(t, text, "\nhttp_requests_total 0\n")
	require.Contains(t, text, "\nhttp_request_duration_seconds_count{")
}

func TestServe_passesTheLinter(t *testing.T) {
	process := &httpapi.Instruments{Command: "room", Version: "v1.2.3", Traffic: &httpapi.Traffic{}}
	h := room(exposition.Handler())
	ask(t, h, process, "GET", "/models/a")
	problems, err := promlint.New(strings.NewReader(ask(t, h, process, "GET", "/metrics"))).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}
