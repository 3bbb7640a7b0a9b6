package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Kind says on which side of an exchange a span stands.
type Kind = trace.SpanKind

// The kinds of spans.
const (
	Internal = trace.SpanKindInternal
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
	Producer = trace.SpanKindProducer
	Consumer = trace.SpanKindConsumer
)

// Tracer starts the spans of one room. Nil is off. It can be used concurrently.
type Tracer struct{ tracer trace.Tracer }

// New returns a tracer of a room, such as "annotate", whose spans go to a provider. Without
// a provider it is nil.
func New(provider trace.TracerProvider, room string) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{tracer: provider.Tracer("github.com/iotenablers/enablers/" + room)}
}

// On reports whether spans are created: for what is only worked out to be put on a span.
func (t *Tracer) On() bool { return t != nil }

// Start begins a span below the one that the context carries, or a trace of its own. The
// returned context carries the new span.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span: span}
}

// Continue begins a span below one of another process. Where remote is none that can be
// read, it is as [Tracer.Start].
func (t *Tracer) Continue(ctx context.Context, remote Context, name string, kind Kind) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	if above := remote.span(); above.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, above)
	}
	return t.Start(ctx, name, kind)
}

// Span is one step of a trace. The zero value is off. It is ended once, and not used after.
type Span struct{ span trace.Span }

// On reports whether the span is recorded.
func (s Span) On() bool { return s.span != nil && s.span.IsRecording() }

// Rename changes the name: for a step that is known only when it has begun.
func (s Span) Rename(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// Text adds an attribute.
func (s Span) Text(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds an attribute.
func (s Span) Number(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// Fail says that the step failed. A nil error says nothing.
func (s Span) Fail(err error) {
	if s.span != nil && err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// Context returns what another process needs to continue below the span; the zero value if
// it is off.
func (s Span) Context() Context {
	if s.span == nil {
		return Context{}
	}
	return newContext(s.span.SpanContext())
}

// Context is the place of a span in its trace as W3C Trace Context writes it. The zero
// value is none.
type Context struct {
	// Parent is the text of the field traceparent.
	Parent string
	// State is the text of the field tracestate. It may be empty.
	State string
}

// The names of the fields, in HTTP headers, Kafka headers and MQTT 5 user properties.
const (
	ParentField = "traceparent"
	StateField  = "tracestate"
)

// Get returns the text of a field.
func (c *Context) Get(field string) string {
	switch field {
	case ParentField:
		return c.Parent
	case StateField:
		return c.State
	}
	return ""
}

// Set changes the text of a field.
func (c *Context) Set(field, text string) {
	switch field {
	case ParentField:
		c.Parent = text
	case StateField:
		c.State = text
	}
}

// Keys returns the names of the fields.
func (c *Context) Keys() []string { return []string{ParentField, StateField} }

// ContextOf returns what another process needs to continue below the span that a context
// carries; the zero value without one.
func ContextOf(ctx context.Context) Context {
	span := trace.SpanFromContext(ctx)
	if !span.SpanContext().IsValid() {
		return Context{}
	}
	return Span{span: span}.Context()
}

// Below returns a tracer of a room whose spans go where the one that the context carries goes.
// Without a span that is recorded it is nil.
func Below(ctx context.Context, room string) *Tracer {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return nil
	}
	return New(span.TracerProvider(), room)
}
