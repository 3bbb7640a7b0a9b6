package annotate_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/iotenablers/enablers/annotate"
)

const (
	traceID  = "0af7651916cd43dd8448eb211c80319c"
	parentID = "b7ad6b7169203331"
)

// carried is the trace of a message that arrives.
func carried() annotate.Trace {
	return annotate.Trace{Parent: "00-" + traceID + "-" + parentID + "-01", State: "vendor=1"}
}

func TestNewTrace_takesWhatIsWellFormed(t *testing.T) {
	good := carried()
	require.Equal(t, good, annotate.NewTrace(good.Parent, good.State))
	later := "cc" + good.Parent[2:] + "-more"
	require.Equal(t, annotate.Trace{Parent: later}, annotate.NewTrace(later, ""))
	require.Equal(t, annotate.Trace{Parent: good.Parent}, annotate.NewTrace(good.Parent, strings.Repeat("x", 1025)))
	require.Equal(t, annotate.Trace{Parent: good.Parent}, annotate.NewTrace(good.Parent, "a=\xff"))
	require.Equal(t, annotate.Trace{Parent: good.Parent}, annotate.NewTrace(good.Parent, "a=\n"))
	for _, parent := range []string{
		"", "nonsense", good.Parent[:54], good.Parent + "-", good.Parent + "0", "ff" + good.Parent[2:],
		strings.ToUpper(good.Parent), strings.Replace(good.Parent, "-", "_", 1), "cc" + good.Parent[2:] + "more",
		"00-" + strings.Repeat("0", 32) + "-" + parentID + "-01", "00-" + traceID + "-" + strings.Repeat("0", 16) + "-01",
		"cc" + good.Parent[2:] + "-" + strings.Repeat("x", 128), "cc" + good.Parent[2:] + "-\xff",
	} {
		require.Zero(t, annotate.NewTrace(parent, "vendor=1"), parent)
	}
}

// runTraced sends a message that can be mapped and one that cannot through a channel, and
// returns its output and its error message.
func runTraced(t *testing.T, env annotate.Environment, broker *annotate.MemoryBroker) (out, failed annotate.Message) {
	t.Helper()
	c := config("traced")
	c.Error = &annotate.Topic{Name: "traced/errors", Broker: annotate.Memory}
	channel, err := annotate.NewChannel(c, env)
	require.NoError(t, err)
	require.NoError(t, channel.Start(t.Context()))
	for _, payload := range []string{`{"id": 17, "value": "v17"}`, `{"id": `} {
		require.NoError(t, broker.Publish(t.Context(), annotate.Message{Topic: "traced/in", Payload: []byte(payload), Trace: carried()}))
	}
	outputs, err := broker.Await(t.Context(), "traced/out", 1)
	require.NoError(t, err)
	failures, err := broker.Await(t.Context(), "traced/errors", 1)
	require.NoError(t, err)
	require.NoError(t, channel.Close())
	return outputs[0], failures[0]
}

func TestChannel_passesTheTraceOfAMessageOn(t *testing.T) {
	broker := annotate.NewMemoryBroker(nil)
	out, failed := runTraced(t, environment(broker), broker)
	require.Equal(t, carried(), out.Trace)
	require.Equal(t, carried(), failed.Trace)
}

func TestChannel_makesSpansOfAMessage(t *testing.T) {
	broker := annotate.NewMemoryBroker(nil)
	env := environment(broker)
	spans := tracetest.NewSpanRecorder()
	env.TracerProvider = trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	out, failed := runTraced(t, env, broker)

	ended := map[string][]trace.ReadOnlySpan{}
	for _, s := range spans.Ended() {
		require.Equal(t, traceID, s.SpanContext().TraceID().String())
		ended[s.Name()] = append(ended[s.Name()], s)
	}
	require.Len(t, spans.Ended(), 6)
	process, mapping := ended["process traced/in"], ended["map"]
	publish, failure := ended["publish traced/out"], ended["publish traced/errors"]
	require.Len(t, process, 2)
	require.Len(t, mapping, 2)
	require.Len(t, publish, 1)
	require.Len(t, failure, 1)
	for n, sent := range []trace.ReadOnlySpan{publish[0], failure[0]} {
		require.Equal(t, parentID, process[n].Parent().SpanID().String())
		require.Equal(t, process[n].SpanContext().SpanID(), sent.Parent().SpanID())
	}
	require.Equal(t, codes.Unset, process[0].Status().Code)
	require.Equal(t, codes.Error, process[1].Status().Code)
	for _, m := range mapping { // two mappers end in any order
		n := slices.IndexFunc(process, func(p trace.ReadOnlySpan) bool { return p.SpanContext().SpanID() == m.Parent().SpanID() })
		require.GreaterOrEqual(t, n, 0)
		require.Equal(t, process[n].Status().Code, m.Status().Code)
	}
	require.Contains(t, process[0].Attributes(), attribute.String("messaging.destination.name", "traced/in"))
	require.Contains(t, process[0].Attributes(), attribute.String("annotate.channel", "traced"))
	require.Contains(t, publish[0].Attributes(), attribute.String("messaging.destination.name", "traced/out"))
	require.Contains(t, publish[0].Attributes(), attribute.String("messaging.operation.type", "send"))
	require.Equal(t, annotate.Trace{
		Parent: "00-" + traceID + "-" + publish[0].SpanContext().SpanID().String() + "-01", State: "vendor=1",
	}, out.Trace)
	require.Equal(t, "00-"+traceID+"-"+failure[0].SpanContext().SpanID().String()+"-01", failed.Trace.Parent)
}

// A message through a channel, its broker in memory included, costs as many allocations with a
// trace as without, and as many as before there were traces.
func TestChannel_tracingOff_allocatesNothingMore(t *testing.T) {
	broker := annotate.NewMemoryBroker(&annotate.MemoryOptions{History: 1})
	channel, err := annotate.NewChannel(config("allocations"), environment(broker))
	require.NoError(t, err)
	require.NoError(t, channel.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, channel.Close()) })
	payload := []byte(`{"id": 17, "value": "v17"}`)
	count := func(trace annotate.Trace) float64 {
		return testing.AllocsPerRun(2000, func() {
			before := channel.Stats().Published
			if err := broker.Publish(t.Context(), annotate.Message{Topic: "allocations/in", Payload: payload, Trace: trace}); err != nil {
				t.Fatal(err)
			}
			for channel.Stats().Published == before {
				runtime.Gosched()
			}
		})
	}
	const before = 17 // measured without traces in a message
	for _, trace := range []annotate.Trace{{}, carried()} {
		least := count(trace)
		for range 5 { // how messages fall into batches of the broker in memory varies
			least = min(least, count(trace))
		}
		require.LessOrEqual(t, least, float64(before))
	}
}

func ExampleNewTrace() {
	trace := annotate.NewTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1")
	fmt.Println(trace.Parent, trace.State)
	fmt.Println(annotate.NewTrace("malformed", "vendor=1") == annotate.Trace{})
	// Output:
	// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 vendor=1
	// true
}
