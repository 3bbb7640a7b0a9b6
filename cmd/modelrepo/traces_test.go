package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/cmd/internal/telemetry/telemetrytest"
	"github.com/iotenablers/enablers/modelrepo"
)

func TestRun_exportsTheWholeTraceOfAnUpload(t *testing.T) {
	r := telemetrytest.NewReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10") // milliseconds
	calls := make(chan string, 1)
	callback := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.Header.Get("Traceparent") }))
	defer callback.Close()
	client, _, p := start(t, "-store", "memory:", "-webhooks-private", "-log-level", "debug", "-log-format", "json")
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	require.NoError(t, client.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, client.CreateModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}))
	require.NoError(t, client.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
	_, err := client.Webhooks().Create(t.Context(), modelrepo.WebhookRequest{Action: modelrepo.ContentUpload, Callback: callback.URL})
	require.NoError(t, err)

	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	ctx := trace.ContextWithSpanContext(t.Context(), caller)
	_, err = client.Upload(ctx, at, "text/turtle", strings.NewReader("turtle"), nil)
	require.NoError(t, err)
	called := <-calls
	r.Await(t, "POST") // ends after the callback has answered
	require.NoError(t, p.Stop(), "which exports what is left")

	id := caller.TraceID().String()
	spans := r.Trace(t, id)
	require.Len(t, spans, 8, "with the client's question for the version: %v", spans)
	for name, parent := range map[string]string{
		"upload":          "POST /{namespace}/{model}/{version}/content",
		"begin upload":    "upload",
		"receive content": "upload",
		"share content":   "upload",
		"finish upload":   "upload",
		"POST":            "finish upload", // of the webhook
	} {
		require.Contains(t, spans, name)
		require.Equal(t, spans[parent].ID, spans[name].Parent, "%s is below %s", name, parent)
		require.Equal(t, "modelrepo", spans[name].Service)
		require.False(t, spans[name].Failed)
	}
	outermost := spans["POST /{namespace}/{model}/{version}/content"]
	require.Equal(t, caller.SpanID().String(), outermost.Parent, "the client's library sends its place in the trace")
	require.Equal(t, "/w3c/sosa/1.0/content", outermost.Attributes["url.path"])
	require.Equal(t, "w3c/sosa/1.0", spans["upload"].Attributes["modelrepo.version"])
	require.Equal(t, "00-"+id+"-"+spans["POST"].ID+"-01", called, "the callback can continue the trace")

	for line := range strings.Lines(p.Log.String()) {
		var fields struct {
			Message string `json:"msg"`
			Path    string
			Trace   string `json:"trace_id"`
			Span    string `json:"span_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if fields.Message == "request" && fields.Path == "/w3c/sosa/1.0/content" {
			require.Equal(t, id, fields.Trace)
			require.Equal(t, outermost.ID, fields.Span)
			return
		}
	}
	t.Fatal("the request is not in the log")
}
