package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// LogHandler returns a handler that adds trace_id and span_id to the lines whose context has a
// span, and passes all lines on to next.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, line slog.Record) error {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		line = line.Clone()
		line.AddAttrs(slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
