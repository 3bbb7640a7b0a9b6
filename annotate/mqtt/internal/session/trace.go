package session

import (
	"encoding/binary"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/tracing"
)

// userProperty is the identifier of a user property (MQTT 5 section 2.2.2.2).
const userProperty = 0x26

// UserProperties collects the trace of a message from its user properties. The zero value has
// none. Of several with one name, the first one counts.
type UserProperties struct{ parent, state []byte }

// Add takes a user property.
func (p *UserProperties) Add(name, value []byte) {
	switch {
	case p.parent == nil && string(name) == tracing.ParentField:
		p.parent = value
	case p.state == nil && string(name) == tracing.StateField:
		p.state = value
	}
}

// Trace returns the trace.
func (p *UserProperties) Trace() annotate.Trace {
	if p.parent == nil {
		return annotate.Trace{}
	}
	return annotate.NewTrace(string(p.parent), string(p.state))
}

// read takes properties in their encoded form. It reports false when they are not all user
// properties, or malformed.
func (p *UserProperties) read(b []byte) bool {
	for len(b) > 0 {
		if b[0] != userProperty {
			return false
		}
		name, rest, ok := text(b[1:])
		if !ok {
			return false
		}
		value, rest, ok := text(rest)
		if !ok {
			return false
		}
		p.Add(name, value)
		b = rest
	}
	return true
}

// text splits off a text with its length (MQTT 5 section 1.5.4). Bytes that are not UTF-8 are
// not noticed: what becomes of them is checked by annotate.NewTrace.
func text(b []byte) (t, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	end := 2 + int(binary.BigEndian.Uint16(b))
	if end > len(b) {
		return nil, nil, false
	}
	return b[2:end:end], b[end:], true
}

// traceSize is the size of the user properties of a trace.
func traceSize(t annotate.Trace) int {
	size := 0
	for _, field := range traceFields(&t) {
		if field.text != "" {
			size += 5 + len(field.name) + len(field.text)
		}
	}
	return size
}

// appendTrace appends the user properties of a trace. Its texts are shorter than 64 KiB.
func appendTrace(b []byte, t annotate.Trace) []byte {
	for _, field := range traceFields(&t) {
		if field.text == "" {
			continue
		}
		b = append(b, userProperty)
		b = binary.BigEndian.AppendUint16(b, uint16(len(field.name)))
		b = append(b, field.name...)
		b = binary.BigEndian.AppendUint16(b, uint16(len(field.text)))
		b = append(b, field.text...)
	}
	return b
}

type field struct{ name, text string }

// traceFields returns what a trace has; none without a parent.
func traceFields(t *annotate.Trace) [2]field {
	if t.Parent == "" {
		return [2]field{}
	}
	return [2]field{{tracing.ParentField, t.Parent}, {tracing.StateField, t.State}}
}
