package telemetry_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/cmd/internal/telemetry/telemetrytest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// set sets variables for the test, and those of traces that it leaves out to nothing.
func set(t *testing.T, pairs ...string) {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER"} {
		t.Setenv(name, "")
	}
	for i := 0; i < len(pairs); i += 2 {
		t.Setenv(pairs[i], pairs[i+1])
	}
}

// export makes a span and flushes.
func export(t *testing.T, log *slog.Logger) {
	provider, flush := telemetry.Open(t.Context(), "command", log)
	require.NotNil(t, provider)
	_, span := provider.Tracer("test").Start(t.Context(), "step")
	span.End()
	flush()
}

func TestOpen_isOffUnlessTheEnvironmentAsksForTraces(t *testing.T) {
	const at, all = "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, off := range [][]string{
		{},
		{"OTEL_TRACES_EXPORTER", "none", all, at},
		{"OTEL_SDK_DISABLED", "TRUE", all, at},
		{"OTEL_SDK_DISABLED", "true", "OTEL_TRACES_EXPORTER", "otlp"},
		{"OTEL_SERVICE_NAME", "name"},
	} {
		set(t, off...)
		provider, flush := telemetry.Open(t.Context(), "command", slog.New(slog.DiscardHandler))
		require.True(t, provider == nil, "also no nil pointer: %v", off)
		flush()
	}
	for _, on := range [][]string{{all, at}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", at}, {"OTEL_TRACES_EXPORTER", "otlp"},
		{"OTEL_SDK_DISABLED", "false", all, at}} {
		set(t, on...)
		provider, flush := telemetry.Open(t.Context(), "command", slog.New(slog.DiscardHandler))
		require.NotNil(t, provider)
		flush()
	}
}

func TestOpen_exportsWithTheNameOfTheCommand(t *testing.T) {
	r := telemetrytest.NewReceiver(t)
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT", r.URL, "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20token,x-tenant = a",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=edge")
	var log bytes.Buffer
	export(t, slog.New(slog.NewTextHandler(&log, nil)))
	spans := r.Spans()
	require.Len(t, spans, 1)
	require.Equal(t, "step", spans[0].Name)
	require.Equal(t, "command", spans[0].Service)
	require.Equal(t, "edge", spans[0].Resource["deployment.environment.name"])
	require.NotEmpty(t, spans[0].Resource["service.version"])
	header := r.Headers()[0]
	require.Equal(t, "Bearer token", header.Get("Authorization"))
	require.Equal(t, "a", header.Get("X-Tenant"))
	require.Equal(t, "gzip", header.Get("Content-Encoding"))
	require.Contains(t, log.String(), "endpoint="+r.URL+"/v1/traces")
	require.NotContains(t, log.String(), "token")
}

func TestOpen_letsTheEnvironmentNameTheService(t *testing.T) {
	r := telemetrytest.NewReceiver(t)
	for want, pairs := range map[string][]string{
		"north":  {"OTEL_SERVICE_NAME", "north", "OTEL_RESOURCE_ATTRIBUTES", "service.name=other"},
		"south":  {"OTEL_RESOURCE_ATTRIBUTES", "service.name=south"},
		"traces": {"OTEL_SERVICE_NAME", "traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", r.URL + "/v1/traces"},
	} {
		if len(pairs) < 4 || pairs[2] != "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" {
			pairs = append(pairs, "OTEL_EXPORTER_OTLP_ENDPOINT", r.URL+"/")
		} else {
			pairs = append(pairs, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
		}
		set(t, pairs...)
		export(t, slog.New(slog.DiscardHandler))
		spans := r.Spans()
		require.Equal(t, want, spans[len(spans)-1].Service)
	}
}

func TestOpen_triesAgainWhileTheReceiverHasTooMuchToDo(t *testing.T) {
	r := telemetrytest.NewReceiver(t)
	r.Refuse(func(attempt int) int {
		if attempt == 1 {
			return http.StatusServiceUnavailable
		}
		return 0
	})
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	export(t, slog.New(slog.DiscardHandler))
	require.Len(t, r.Spans(), 1)
	require.Len(t, r.Headers(), 2)
}

func TestOpen_logsOnceThatSpansAreLost(t *testing.T) {
	r := telemetrytest.NewReceiver(t)
	r.Refuse(func(int) int { return http.StatusUnauthorized })
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT", r.URL, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	var log bytes.Buffer
	provider, flush := telemetry.Open(t.Context(), "command", slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		_, span := provider.Tracer("test").Start(t.Context(), "step")
		span.End()
	}
	flush()
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("level=WARN")), log.String())
	require.Contains(t, log.String(), "401 Unauthorized")
	require.Len(t, r.Headers(), 3, "what is refused for good is not sent again")
}

func TestOpen_logsWhatItCannotDoAndExportsNothing(t *testing.T) {
	const on, at = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"
	missing := filepath.Join(t.TempDir(), "missing.pem")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		want  string
		pairs []string
	}{
		{`OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported; set http/protobuf`, []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
		{`OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json"`, []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"}},
		{`expected otlp or none" exporter=zipkin`, []string{"OTEL_TRACES_EXPORTER", "zipkin"}},
		{`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "collector:4317": expected http://HOST`,
			[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"}},
		{"OTEL_EXPORTER_OTLP_TIMEOUT: expected a positive number of milliseconds, got \"10s\"", []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}},
		{`OTEL_EXPORTER_OTLP_COMPRESSION: expected gzip or none, got "zstd"`, []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"}},
		{"OTEL_EXPORTER_OTLP_HEADERS: expected NAME=VALUE", []string{"OTEL_EXPORTER_OTLP_HEADERS", "hidden-token"}},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE: open", []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", missing}},
		{"holds no certificate", []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", empty}},
		{"one needs the other", []string{"OTEL_EXPORTER_OTLP_CLIENT_KEY", missing}},
		{`OTEL_TRACES_SAMPLER: "jaeger_remote" is not known`, []string{"OTEL_TRACES_SAMPLER", "jaeger_remote"}},
		{`expected a ratio from 0 to 1, got "2"`, []string{"OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", "2"}},
		{"OTEL_RESOURCE_ATTRIBUTES", []string{"OTEL_RESOURCE_ATTRIBUTES", "nothing"}},
	} {
		t.Run(c.pairs[0], func(t *testing.T) {
			set(t, append([]string{on, at}, c.pairs...)...)
			var log bytes.Buffer
			provider, flush := telemetry.Open(t.Context(), "command", slog.New(slog.NewTextHandler(&log, nil)))
			require.True(t, provider == nil, "also no nil pointer")
			flush()
			require.Contains(t, log.String(), "level=ERROR")
			require.Contains(t, strings.ReplaceAll(log.String(), `\"`, `"`), c.want)
			require.NotContains(t, log.String(), "hidden-token")
		})
	}
}

func TestOpen_exportsByTheExporterThatItHas(t *testing.T) {
	r := telemetrytest.NewReceiver(t)
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT", r.URL, "OTEL_TRACES_EXPORTER", "otlp, console")
	var log bytes.Buffer
	export(t, slog.New(slog.NewTextHandler(&log, nil)))
	require.Len(t, r.Spans(), 1)
	require.Contains(t, log.String(), "exporter=console")
}

func TestOpen_samplesAsTheEnvironmentSays(t *testing.T) {
	set(t, "OTEL_TRACES_EXPORTER", "otlp", "OTEL_TRACES_SAMPLER", "always_off")
	provider, flush := telemetry.Open(t.Context(), "command", slog.New(slog.DiscardHandler))
	_, span := provider.Tracer("test").Start(context.Background(), "step")
	require.False(t, span.IsRecording())
	flush()
	require.Implements(t, (*trace.TracerProvider)(nil), provider)
}

func TestOpen_trustsTheAuthorityOfTheEnvironment(t *testing.T) {
	taken := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken++ }))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	own := servertest.NewAuthority(t).Issue("client")
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT", s.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE", file,
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", own.Cert, "OTEL_EXPORTER_OTLP_CLIENT_KEY", own.Key)
	export(t, slog.New(slog.DiscardHandler))
	require.Equal(t, 1, taken)
}
