package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/tracing"
)

// traced serves requests to a handler with the routes and records the spans.
func traced(t *testing.T, routes ...httpapi.Route) (ask func(method, path, parent string), spans *tracetest.SpanRecorder) {
	spans = tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	ctx := httpapi.WithInstruments(t.Context(), &httpapi.Instruments{
		Traffic: &httpapi.Traffic{}, Tracer: tracing.New(provider, "http"),
	})
	h := httpapi.NewHandler(routes, nil)
	return func(method, path, parent string) {
		r := httptest.NewRequestWithContext(ctx, method, path, nil)
		if parent != "" {
			r.Header.Set("Traceparent", parent)
			r.Header.Set("Tracestate", "vendor=1")
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}, spans
}

func TestNewHandler_makesASpanOfEachRequest(t *testing.T) {
	inside := oteltrace.SpanContext{}
	ask, spans := traced(t,
		httpapi.Route{Pattern: "GET /models/{name}", Func: func(_ http.ResponseWriter, r *http.Request) error {
			inside = oteltrace.SpanContextFromContext(r.Context())
			return nil
		}},
		httpapi.Route{Pattern: "GET /broken", Func: func(http.ResponseWriter, *http.Request) error { panic("broken") }},
		httpapi.Route{Pattern: "GET /healthz", Func: httpapi.Live},
	)
	ask("GET", "/models/a", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ask("GET", "/broken", "")
	ask("GET", "/healthz", "")
	ask("GET", "/nothing", "")

	ended := spans.Ended()
	require.Len(t, ended, 3, "probes have none")
	one := ended[0]
	require.Equal(t, "GET /models/{name}", one.Name())
	require.Equal(t, oteltrace.SpanKindServer, one.SpanKind())
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", one.SpanContext().TraceID().String())
	require.Equal(t, "b7ad6b7169203331", one.Parent().SpanID().String())
	require.Equal(t, "vendor=1", one.SpanContext().TraceState().String())
	require.Equal(t, one.SpanContext().SpanID(), inside.SpanID(), "the handler's context carries it")
	require.Equal(t, codes.Unset, one.Status().Code)
	attributes := map[string]string{}
	for _, a := range one.Attributes() {
		attributes[string(a.Key)] = a.Value.String()
	}
	require.Equal(t, map[string]string{
		"http.request.method": "GET", "http.route": "/models/{name}", "url.path": "/models/a",
		"http.response.status_code": "200", "network.protocol.version": "1.1",
	}, attributes)
	require.Equal(t, "GET /broken", ended[1].Name())
	require.Equal(t, codes.Error, ended[1].Status().Code)
	require.Equal(t, "GET", ended[2].Name(), "no route is for it")
	require.Equal(t, codes.Unset, ended[2].Status().Code, "a mistake of the client is none of the server")
}

func TestStripPrefix_staysInSpansAndCounts(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	traffic := &httpapi.Traffic{}
	ctx := httpapi.WithInstruments(t.Context(), &httpapi.Instruments{
		Traffic: traffic, Tracer: tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), "http"),
	})
	page := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /{name}", Func: httpapi.Live}}, nil)
	h := httpapi.StripPrefix("/ui/models", httpapi.StripPrefix("/api", page))
	for _, path := range []string{"/ui/models/api/sosa", "/ui/models/sosa"} { // the second one is not for it
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", path, nil))
	}
	require.Len(t, spans.Ended(), 1)
	require.Equal(t, "GET /ui/models/api/{name}", spans.Ended()[0].Name())
	require.Contains(t, spans.Ended()[0].Attributes(), attribute.String("url.path", "/ui/models/api/sosa"))
	require.Contains(t, spans.Ended()[0].Attributes(), attribute.String("http.route", "/ui/models/api/{name}"))
	require.Len(t, traffic.Requests(), 1)
	require.Equal(t, "/ui/models/api/{name}", traffic.Requests()[0].Route)
}

func TestNewHandler_logsWithTheContextOfTheRequest(t *testing.T) {
	seen := &contexts{Handler: slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelDebug})}
	provider := trace.NewTracerProvider()
	ctx := httpapi.WithInstruments(t.Context(), &httpapi.Instruments{
		Traffic: &httpapi.Traffic{}, Tracer: tracing.New(provider, "http"),
	})
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /", Func: httpapi.Live}}, &httpapi.Options{Logger: slog.New(seen)})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	require.Len(t, seen.spans, 1)
	require.True(t, seen.spans[0].IsValid())
}

func TestReady_refusesWhileTheProcessIsAboutToStop(t *testing.T) {
	draining := false
	ctx := httpapi.WithInstruments(t.Context(), &httpapi.Instruments{
		Traffic: &httpapi.Traffic{}, Draining: func() bool { return draining },
	})
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /readyz", Func: httpapi.Ready(func() error { return nil })}}, nil)
	status := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/readyz", nil))
		return w.Code
	}
	require.Equal(t, 200, status())
	draining = true
	require.Equal(t, 503, status())
}
