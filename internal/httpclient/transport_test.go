package httpclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/httpclient"
)

// get sends a request and returns the field traceparent that the service gets.
func get(ctx context.Context, t *testing.T, client *http.Client) (parent string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent = r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer s.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Empty(t, request.Header, "the request of the caller is left alone")
	return parent
}

func TestNew_hasTheServiceContinueTheTrace(t *testing.T) {
	client := httpclient.New(nil)
	require.Empty(t, get(t.Context(), t, client))

	spans := tracetest.NewSpanRecorder()
	ctx, outer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "outer")
	parent := get(ctx, t, client)
	require.Len(t, spans.Ended(), 1)
	span := spans.Ended()[0]
	require.Equal(t, "GET", span.Name())
	require.Equal(t, oteltrace.SpanKindClient, span.SpanKind())
	require.Equal(t, outer.SpanContext().SpanID(), span.Parent().SpanID())
	require.Equal(t, codes.Error, span.Status().Code)
	require.Equal(t, "00-"+span.SpanContext().TraceID().String()+"-"+span.SpanContext().SpanID().String()+"-01", parent)
}

func TestNew_passesAPlaceInATraceOnThatIsNotRecorded(t *testing.T) {
	at := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: oteltrace.TraceID{1}, SpanID: oteltrace.SpanID{2}})
	parent := get(oteltrace.ContextWithSpanContext(t.Context(), at), t, httpclient.New(nil))
	require.Equal(t, "00-01000000000000000000000000000000-0200000000000000-00", parent)
}

// instant answers at once.
type instant struct{ answer *http.Response }

func (i instant) RoundTrip(*http.Request) (*http.Response, error) { return i.answer, nil }

func TestNew_allocatesNothingMoreWithoutATrace(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "http://service/", nil)
	client := httpclient.New(&http.Client{Transport: instant{&http.Response{}}})
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = client.Transport.RoundTrip(request) }))
}
