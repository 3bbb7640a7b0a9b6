package tracing

import (
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"
)

// The package propagation of OpenTelemetry does the same, and links net/http, which the engines
// do without.

// carriedFlags are the flags that travel: sampled, and random identifier.
const carriedFlags = trace.FlagsSampled | trace.FlagsRandom

// WellFormed reports whether a text is one of the field traceparent (W3C Trace Context section
// 3.2.2): version, trace, span and flags in small hexadecimal digits. A version after the first
// may add more.
func WellFormed(parent string) bool {
	const size, zeros = 55, "00000000000000000000000000000000"
	if len(parent) < size || parent[:2] == "ff" || (len(parent) > size && (parent[:2] == "00" || parent[size] != '-')) {
		return false
	}
	for i, c := range []byte(parent) {
		dash := i == 2 || i == 35 || i == 52
		switch {
		case i >= size && (c < '!' || c > '~'), dash && c != '-':
			return false
		case i < size && !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return parent[3:35] != zeros && parent[36:52] != zeros[:16]
}

// span returns the span that the context names; one that is not valid if the context names none.
func (c Context) span() trace.SpanContext {
	if !WellFormed(c.Parent) {
		return trace.SpanContext{}
	}
	s := trace.SpanContextConfig{Remote: true}
	s.TraceID, _ = trace.TraceIDFromHex(c.Parent[3:35]) // all of these have their form
	s.SpanID, _ = trace.SpanIDFromHex(c.Parent[36:52])
	flags, _ := hex.DecodeString(c.Parent[53:55])
	s.TraceFlags = trace.TraceFlags(flags[0]) & carriedFlags
	s.TraceState, _ = trace.ParseTraceState(c.State) // a state that cannot be read is none (section 3.3)
	return trace.NewSpanContext(s)
}

// newContext returns the context of a span.
func newContext(s trace.SpanContext) Context {
	if !s.IsValid() {
		return Context{}
	}
	id, span, flags := s.TraceID(), s.SpanID(), [1]byte{byte(s.TraceFlags() & carriedFlags)}
	b := make([]byte, 0, 55)
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, id[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, span[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, flags[:])
	return Context{Parent: string(b), State: s.TraceState().String()}
}
