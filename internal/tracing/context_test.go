package tracing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/tracing"
)

// FuzzContext compares with the package of OpenTelemetry that is not linked.
func FuzzContext(f *testing.F) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, p := range []string{"", parent, parent[:54], parent + "-", "cc" + parent[2:] + "-more", "ff" + parent[2:], parent[:53] + "03"} {
		f.Add(p, "vendor=1,other=2")
	}
	f.Fuzz(func(t *testing.T, parent, state string) {
		remote := tracing.Context{Parent: parent, State: state}
		theirs := api.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), &remote))
		spans := tracetest.NewSpanRecorder()
		tracer := tracing.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans), trace.WithSampler(trace.AlwaysSample())), "room")
		ctx, span := tracer.Continue(t.Context(), remote, "step", tracing.Consumer)
		span.End()
		ours := spans.Ended()[0].Parent()
		if !theirs.IsValid() {
			// That package refuses unknown flags of the first version, which section 3.2.2.5 has ignored.
			return
		}
		if !ours.IsValid() {
			require.Greater(t, len(parent), 55, "only what follows is read more strictly")
			return
		}
		require.True(t, ours.Equal(theirs), "%v, want %v", ours, theirs)
		var carried tracing.Context
		propagation.TraceContext{}.Inject(ctx, &carried)
		require.Equal(t, carried, span.Context())
	})
}
