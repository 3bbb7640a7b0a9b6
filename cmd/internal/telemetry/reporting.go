//go:build !no_otlp

package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// reportInterval is the shortest time between two lines about spans that are lost.
const reportInterval = time.Minute

// reporting is an exporter whose failures go to the log, and not to a handler that all of the
// process shares.
type reporting struct {
	sdk.SpanExporter
	log *slog.Logger

	mu     sync.Mutex
	failed bool // the last export
	lost   int  // spans since the last line
	logged time.Time
}

// ExportSpans implements sdk.SpanExporter.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.failed {
			r.log.Info("traces are exported again", "lost", r.lost)
			r.failed, r.lost, r.logged = false, 0, time.Time{}
		}
		return nil
	}
	r.failed = true
	r.lost += len(spans)
	if now := time.Now(); r.logged.IsZero() || now.Sub(r.logged) >= reportInterval {
		r.logged = now
		r.log.Warn("traces cannot be exported; spans are dropped until they can", "lost", r.lost, "error", err)
	}
	return nil
}
