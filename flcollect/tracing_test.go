package flcollect_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/report"
)

func TestServer_traces_aRoundWithItsClients(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	w := newWorld(t, flcollect.Config{
		Initial: zeros, TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(spans)),
	})
	parents := make(chan any, 2)
	client := trainer{step: 1, examples: 1, fit: func(_ context.Context, ins flower.FitIns, _ *flower.FitRes) error {
		parents <- ins.Config["traceparent"]
		return nil
	}}
	w.join(t, client)
	w.join(t, client)
	require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
	w.untilState(t, "job", report.Finished)
	w.end()

	names, below := map[string]int{}, map[string]string{}
	byID := map[string]trace.ReadOnlySpan{}
	for _, s := range spans.Ended() {
		byID[s.SpanContext().SpanID().String()] = s
	}
	for _, s := range spans.Ended() {
		if s.Name() == "save" && !s.Parent().IsValid() {
			continue // of the model to begin with
		}
		names[s.Name()+" "+s.SpanKind().String()]++
		if parent := byID[s.Parent().SpanID().String()]; parent != nil {
			below[s.Name()+" "+s.SpanKind().String()] = parent.Name()
		}
	}
	require.Equal(t, map[string]int{
		"round 1 internal": 1, "gather internal": 1, "fit internal": 1, "fit client": 2, "aggregate internal": 1, "save internal": 1,
		"evaluate internal": 1, "evaluate client": 2,
	}, names)
	require.Equal(t, map[string]string{
		"gather internal": "round 1", "fit internal": "round 1", "fit client": "fit", "aggregate internal": "fit",
		"save internal": "round 1", "evaluate internal": "round 1", "evaluate client": "evaluate",
	}, below)
	for range 2 {
		parent, _ := (<-parents).(string)
		require.Len(t, parent, 55)
		require.Equal(t, "fit", byID[parent[36:52]].Name())
	}
}

func TestServer_sendsClientsNoTraceWhereTracingIsOff(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	configs := make(chan flower.Config, 1)
	w.join(t, trainer{step: 1, examples: 1, fit: func(_ context.Context, ins flower.FitIns, _ *flower.FitRes) error {
		configs <- ins.Config
		return nil
	}})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.untilState(t, "job", report.Finished)
	require.NotContains(t, <-configs, "traceparent")
}
