package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

const clientParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// traced is a gateway with spans before a service that keeps the header fields it got.
func traced(t *testing.T, change func(*entity.Config)) (g *gateway.Gateway, spans *tracetest.SpanRecorder, got *http.Header) {
	t.Helper()
	got = &http.Header{}
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		*got = r.Header.Clone()
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	spans = tracetest.NewSpanRecorder()
	g, _ = newGateway(t, gateway.Options{TracerProvider: sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))})
	config := routed(serviceAt(t, "s", service.URL), anyPath())
	if change != nil {
		change(&config)
	}
	require.NoError(t, g.Apply(config))
	return g, spans, got
}

func send(g *gateway.Gateway, path string, header ...string) int {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	g.ServeHTTP(recorder, request)
	return recorder.Code
}

func spanAttributes(span sdk.ReadOnlySpan) map[attribute.Key]attribute.Value {
	made := map[attribute.Key]attribute.Value{}
	for _, one := range span.Attributes() {
		made[one.Key] = one.Value
	}
	return made
}

func TestGateway_spansGoOnFromTheClientToTheService(t *testing.T) {
	g, spans, got := traced(t, nil)
	require.Equal(t, http.StatusOK, send(g, "/things/17?secret=1", "traceparent", clientParent, "tracestate", "vendor=1"))
	ended := spans.Ended()
	require.Len(t, ended, 2)
	attempt, whole := ended[0], ended[1]
	require.Equal(t, trace.SpanKindServer, whole.SpanKind())
	require.Equal(t, "GET route", whole.Name())
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", whole.SpanContext().TraceID().String())
	require.Equal(t, "b7ad6b7169203331", whole.Parent().SpanID().String())
	require.EqualValues(t, 200, spanAttributes(whole)["http.response.status_code"].AsInt64())
	require.Equal(t, "/things/17", spanAttributes(whole)["url.path"].AsString())
	require.Equal(t, trace.SpanKindClient, attempt.SpanKind())
	require.Equal(t, whole.SpanContext().SpanID(), attempt.Parent().SpanID())
	require.Equal(t, []string{"00-0af7651916cd43dd8448eb211c80319c-" + attempt.SpanContext().SpanID().String() + "-01"}, (*got)["Traceparent"])
	require.Equal(t, "vendor=1", got.Get("Tracestate"))
}

func TestGateway_spansSayWhatFailed(t *testing.T) {
	g, spans, _ := traced(t, func(c *entity.Config) {
		keep := false
		c.Routes[0].Paths, c.Routes[0].StripPath = []string{"/fails"}, &keep
	})
	require.Equal(t, http.StatusInternalServerError, send(g, "/fails"))
	ended := spans.Ended()
	require.Len(t, ended, 2)
	for _, span := range ended {
		require.Equal(t, codes.Error, span.Status().Code)
	}
	require.Equal(t, http.StatusNotFound, send(g, "/elsewhere"))
	ended = spans.Ended()
	require.Len(t, ended, 3)
	require.Equal(t, "GET", ended[2].Name(), "no route, so no name that a client could choose")
	require.Equal(t, codes.Unset, ended[2].Status().Code, "it is the client's mistake")
}

func TestGateway_eachAttemptHasASpan(t *testing.T) {
	g, spans, _ := traced(t, func(c *entity.Config) {
		c.Services[0] = serviceAt(t, "s", "http://127.0.0.1:1")
		retries := 2
		c.Services[0].Retries = &retries
	})
	require.Equal(t, http.StatusBadGateway, send(g, "/"))
	ended := spans.Ended()
	require.Len(t, ended, 4)
	for i, span := range ended[:3] {
		require.Equal(t, codes.Error, span.Status().Code)
		require.EqualValues(t, i, spanAttributes(span)["http.request.resend_count"].AsInt64())
	}
}

func TestGateway_withoutSpansTheClientsContextPasses(t *testing.T) {
	var got http.Header
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() })
	g, _ := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	require.Equal(t, http.StatusOK, send(g, "/", "traceparent", clientParent, "tracestate", "vendor=1"))
	require.Equal(t, []string{clientParent}, got["Traceparent"])
	require.Equal(t, []string{"vendor=1"}, got["Tracestate"])
	require.Equal(t, http.StatusOK, send(g, "/"))
	require.NotContains(t, got, "Traceparent")
}
