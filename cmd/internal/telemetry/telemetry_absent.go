//go:build no_otlp

package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/server"
)

var _ server.TraceOpener = Open

// Open returns no provider, and logs an error if the environment asks for the export of traces.
func Open(_ context.Context, _ string, log *slog.Logger) (trace.TracerProvider, func()) {
	if wanted(log) {
		log.Error("no traces are exported: this program was built without the exporter, with the tag no_otlp; " +
			"OTEL_TRACES_EXPORTER=none ends this message")
	}
	return nil, func() {}
}
