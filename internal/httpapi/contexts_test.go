package httpapi_test

import (
	"context"
	"log/slog"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// contexts notes which spans the contexts of lines carry.
type contexts struct {
	slog.Handler
	spans []oteltrace.SpanContext
}

func (c *contexts) Handle(ctx context.Context, line slog.Record) error {
	c.spans = append(c.spans, oteltrace.SpanContextFromContext(ctx))
	return c.Handler.Handle(ctx, line)
}
