package tracing_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/iotenablers/enablers/internal/tracing"
)

func TestTracer_off_allocatesNothing(t *testing.T) {
	tracer := tracing.New(nil, "room")
	require.False(t, tracer.On())
	remote := tracing.Context{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ctx, span := tracer.Continue(t.Context(), remote, "step", tracing.Consumer)
		_, child := tracer.Start(ctx, "step", tracing.Internal)
		child.Text("key", "value")
		child.Number("count", 1)
		child.Fail(nil)
		child.End()
		span.End()
		if span.Context() != (tracing.Context{}) {
			t.Fatal("a span that is off has a context")
		}
	}))
}

func TestTracer_Continue_joinsTheTraceOfAnotherProcess(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), "room")
	remote := tracing.Context{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "vendor=1"}

	ctx, span := tracer.Continue(t.Context(), remote, "receive", tracing.Consumer)
	_, child := tracer.Start(ctx, "map", tracing.Internal)
	child.Text("key", "value")
	child.Number("count", 2)
	child.Fail(errors.New("no such column"))
	carried := child.Context()
	child.End()
	span.End()

	ended := spans.Ended()
	require.Len(t, ended, 2)
	inner, outer := ended[0], ended[1]
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", inner.SpanContext().TraceID().String())
	require.Equal(t, "b7ad6b7169203331", outer.Parent().SpanID().String())
	require.Equal(t, outer.SpanContext().SpanID(), inner.Parent().SpanID())
	require.Equal(t, codes.Error, inner.Status().Code)
	require.Equal(t, "no such column", inner.Status().Description)
	require.Len(t, inner.Attributes(), 2)
	require.Equal(t, "00-0af7651916cd43dd8448eb211c80319c-"+inner.SpanContext().SpanID().String()+"-01", carried.Parent)
	require.Equal(t, "vendor=1", carried.State)
}

func TestTracer_Continue_beginsATraceWhereNoneCanBeRead(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), "room")
	for _, parent := range []string{"", "nonsense", "00-00000000000000000000000000000000-0000000000000000-01"} {
		_, span := tracer.Continue(t.Context(), tracing.Context{Parent: parent}, "receive", tracing.Consumer)
		span.End()
	}
	for _, span := range spans.Ended() {
		require.False(t, span.Parent().IsValid())
		require.True(t, span.SpanContext().IsValid())
	}
}
