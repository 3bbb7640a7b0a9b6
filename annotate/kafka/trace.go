package kafka

import (
	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/tracing"
)

// readTrace returns the trace of a record with these headers. Of several with one name, the first
// one counts.
func readTrace(headers []*sarama.RecordHeader) annotate.Trace {
	var parent, state []byte
	for _, h := range headers {
		switch {
		case h == nil:
		case parent == nil && string(h.Key) == tracing.ParentField:
			parent = h.Value
		case state == nil && string(h.Key) == tracing.StateField:
			state = h.Value
		}
	}
	if parent == nil {
		return annotate.Trace{}
	}
	return annotate.NewTrace(string(parent), string(state))
}

// traceHeaders returns the headers of a record with a trace.
func traceHeaders(t annotate.Trace) []sarama.RecordHeader {
	headers := []sarama.RecordHeader{{Key: []byte(tracing.ParentField), Value: []byte(t.Parent)}}
	if t.State != "" {
		headers = append(headers, sarama.RecordHeader{Key: []byte(tracing.StateField), Value: []byte(t.State)})
	}
	return headers
}
