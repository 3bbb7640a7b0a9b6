package annotate

import (
	"cmp"
	"context"
	"strings"

	"github.com/iotenablers/enablers/internal/tracing"
)

// Trace is the place of a message in a trace, as W3C Trace Context writes it: the texts
// traceparent and tracestate, which travel in the headers of a Kafka record and in the user
// properties of MQTT 5. MQTT 3.1.1 has no place for them. The zero value is none.
//
// A channel passes the trace of a message on to what it makes of it. With
// Environment.TracerProvider it adds spans of its own and passes the place of the last one on.
type Trace = tracing.Context

// maxTraceParent and maxTraceState bound the texts of a Trace in bytes. The first one has 55
// in its present version; of the second one, 512 have to be carried.
const (
	maxTraceParent = 128
	maxTraceState  = 1024
)

// NewTrace returns the trace that a message carries. Nothing comes of a parent that is
// malformed or longer than 128 bytes, and of a state that has other than visible ASCII
// characters and spaces or is longer than 1,024 bytes: the message is as one without. Drivers
// call it for what arrives, so that a channel passes nothing on that a broker would refuse.
func NewTrace(parent, state string) Trace {
	if len(parent) > maxTraceParent || !tracing.WellFormed(parent) {
		return Trace{}
	}
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		state = ""
	}
	return Trace{Parent: parent, State: state}
}

// traceSize is the size of a message's trace, for the limits on bytes.
func traceSize(t Trace) int { return len(t.Parent) + len(t.State) }

// journey is the spans of one message on its way through a channel. The zero value is off.
type journey struct {
	ctx     context.Context // carries process
	process tracing.Span    // from its arrival to its acknowledgement
	publish tracing.Span    // from handing its output over to the broker's confirmation
}

// depart begins the journey of a message.
func (p *pipeline) depart(j *job) {
	c := p.channel
	if !c.tracer.On() {
		return
	}
	topic := &c.config.Input
	m := &j.delivery.Message
	ctx, span := c.tracer.Continue(context.Background(), m.Trace, "process "+topic.Name, tracing.Consumer)
	j.journey.ctx, j.journey.process = ctx, span
	name := cmp.Or(m.Topic, topic.Name)
	describe(span, topic.Broker, name, "process", len(m.Payload))
	if name != topic.Name {
		span.Text("messaging.destination.template", topic.Name) // a filter
	}
	span.Text("annotate.channel", c.ID())
}

// describe adds the attributes of messaging (OpenTelemetry semantic conventions).
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

// traced calls a mapper in a span.
func (p *pipeline) traced(j *job, mapMessage func(*job)) {
	if !p.channel.tracer.On() {
		mapMessage(j)
		return
	}
	_, span := p.channel.tracer.Start(j.journey.ctx, "map", tracing.Internal)
	mapMessage(j)
	span.Fail(j.err)
	span.End()
}

// send begins the span of a message that is published on a topic, and returns what the message
// carries: the place of the span, or without one the place that the input came with.
func (p *pipeline) send(j *job, topic *Topic, size int) Trace {
	if !p.channel.tracer.On() {
		return j.delivery.Trace
	}
	_, span := p.channel.tracer.Start(j.journey.ctx, "publish "+topic.Name, tracing.Producer)
	describe(span, topic.Broker, topic.Name, "publish", size)
	j.journey.publish = span
	if trace := span.Context(); trace.Parent != "" {
		return trace
	}
	return j.delivery.Trace
}

// sent ends the span of the message that was published last.
func (j *job) sent(err error) {
	j.journey.publish.Fail(err)
	j.journey.publish.End()
	j.journey.publish = tracing.Span{}
}

// arrive ends the journey. err is why the message is not acknowledged.
func (j *job) arrive(err error) {
	j.sent(err)
	if err == nil {
		err = j.err
	}
	j.journey.process.Fail(err)
	j.journey.process.End()
	j.journey = journey{}
}
