package annotate

import (
	"cmp"
	"context"
	"strings"

	"github.com/iotenablers/enablers/internal/tracing"
)

// Trace is the trace context of a message (W3C Trace Context). The headers of a Kafka
// record and the user properties of MQTT 5 carry it; MQTT 3.1.1 cannot. The zero value
// is no trace.
//
// The output of a channel has the trace of its input. With Environment.TracerProvider the
// channel adds spans, and the output has the last of them as its parent.
type Trace struct {
	Parent string // the text traceparent
	State  string // the text tracestate, which may be empty
}

// maxTraceParent and maxTraceState bound the texts of a Trace in bytes. In version 00, a
// parent has 55 bytes, and at least 512 bytes of state must be propagated.
const (
	maxTraceParent = 128
	maxTraceState  = 1024
)

// NewTrace returns the trace of a message that was received. It ignores a parent that is
// malformed or longer than 128 bytes, and a state that is longer than 1,024 bytes or has
// characters other than visible ASCII and spaces, because another broker would refuse to
// carry them. Drivers call it for every message.
func NewTrace(parent, state string) Trace {
	if len(parent) > maxTraceParent || !tracing.WellFormed(parent) {
		return Trace{}
	}
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		state = ""
	}
	return Trace{Parent: parent, State: state}
}

// size returns the bytes of the trace, for the limits on memory.
func (t Trace) size() int { return len(t.Parent) + len(t.State) }

// spans are those of one message in a channel. The zero value has none.
type spans struct {
	ctx     context.Context // carries process
	process tracing.Span    // from receipt to acknowledgement
	publish tracing.Span    // from publishing the output to the broker's confirmation
}

// startProcess starts the span of a message.
func (p *pipeline) startProcess(j *job) {
	c := p.channel
	if !c.tracer.On() {
		return
	}
	topic := &c.config.Input
	m := &j.delivery.Message
	ctx, span := c.tracer.Continue(context.Background(), tracing.Context(m.Trace), "process "+topic.Name, tracing.Consumer)
	j.spans.ctx = ctx
	j.spans.process = span
	name := cmp.Or(m.Topic, topic.Name)
	describe(span, topic.Broker, name, "process", len(m.Payload))
	if name != topic.Name {
		span.Text("messaging.destination.template", topic.Name) // a filter
	}
	span.Text("annotate.channel", c.ID())
}

// describe adds the attributes of messaging spans (OpenTelemetry semantic conventions).
func describe(s tracing.Span, broker BrokerType, topic, operation string, size int) {
	if !s.On() {
		return
	}
	kind := operation
	if kind == "publish" {
		kind = "send"
	}
	s.Text("messaging.system", strings.ToLower(string(broker)))
	s.Text("messaging.destination.name", topic)
	s.Text("messaging.operation.name", operation)
	s.Text("messaging.operation.type", kind)
	s.Number("messaging.message.body.size", int64(size))
}

// traced calls mapMessage in a span.
func (p *pipeline) traced(j *job, mapMessage func(*job)) {
	if !p.channel.tracer.On() {
		mapMessage(j)
		return
	}
	_, span := p.channel.tracer.Start(j.spans.ctx, "map", tracing.Internal)
	mapMessage(j)
	span.Fail(j.err)
	span.End()
}

// startPublish starts the span of a message that is published on a topic, and returns the
// trace of the message: with the span as its parent, or that of the input if there is no span.
func (p *pipeline) startPublish(j *job, topic *Topic, size int) Trace {
	if !p.channel.tracer.On() {
		return j.delivery.Trace
	}
	_, span := p.channel.tracer.Start(j.spans.ctx, "publish "+topic.Name, tracing.Producer)
	describe(span, topic.Broker, topic.Name, "publish", size)
	j.spans.publish = span
	if parent := span.Context(); parent.Parent != "" {
		return Trace(parent)
	}
	return j.delivery.Trace
}

// endPublish ends the span of the message that was published last.
func (j *job) endPublish(err error) {
	j.spans.publish.Fail(err)
	j.spans.publish.End()
	j.spans.publish = tracing.Span{}
}

// endProcess ends all spans. err is why the message is not acknowledged.
func (j *job) endProcess(err error) {
	j.endPublish(err)
	if err == nil {
		err = j.err
	}
	j.spans.process.Fail(err)
	j.spans.process.End()
	j.spans = spans{}
}
