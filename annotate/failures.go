package annotate

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate/rml"
)

// The bounds of the failed messages that a channel keeps.
const (
	keptFailures       = 20
	keptFailureBytes   = 2 << 20   // payloads of a channel
	keptFailurePayload = 256 << 10 // payload of a message
)

// FailedMessage is a message that could not be annotated or whose output the broker refused, or
// one of [Warnings].
type FailedMessage struct {
	// Number counts the failed messages of the channel from 1 since it was created, or those
	// with a warning that were kept.
	Number uint64
	// Time is when it was mapped, and Topic where it came in.
	Time  time.Time
	Topic string
	// Payload is the message, without its end if it is longer than 256 KiB. Bytes is its size.
	Payload []byte
	Bytes   int
	// Format is the input format of the mapping.
	Format InputFormat
	// Reason describes what is wrong, in the node of the mapping that Node names and at a Place
	// of the message: a JSON pointer, an XPath, a row, or a line and column. Both are empty
	// where they do not apply. Where the output violates the shapes Node names the first shape.
	Reason, Node, Place string
}

// newFailedMessage describes a message that failed.
func newFailedMessage(m Message, format InputFormat, cause error) FailedMessage {
	f := FailedMessage{
		Time: time.Now(), Topic: m.Topic, Bytes: len(m.Payload), Format: format, Reason: cause.Error(),
		Payload: bytes.Clone(m.Payload[:min(len(m.Payload), keptFailurePayload)]),
	}
	var mapping *rml.MessageError
	if errors.As(cause, &mapping) {
		f.Reason = mapping.Err.Error()
		f.Node = mapping.Node
		f.Place = mapping.Place
	}
	if violated := (*ShapeError)(nil); errors.As(cause, &violated) {
		f.Node = violated.shape()
	}
	return f
}

// Failures returns the newest failed messages, newest first: 20 at most, with 2 MiB of
// payloads together. They are kept in memory while the channel exists. The caller must not
// change the payloads.
func (c *Channel) Failures() []FailedMessage { return c.failures.newest() }

// newest returns the messages that are kept, newest first.
func (f *failures) newest() []FailedMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	newest := slices.Clone(f.kept)
	slices.Reverse(newest)
	return newest
}

// failures are the newest failed messages of a channel, or those with a warning.
type failures struct {
	mu    sync.Mutex
	count uint64
	bytes int // of the payloads
	kept  []FailedMessage
}

// keep adds a message, and drops the oldest ones that there is no room for.
func (f *failures) keep(m FailedMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	m.Number = f.count
	f.kept = append(f.kept, m)
	f.bytes += len(m.Payload)
	for len(f.kept) > keptFailures || f.bytes > keptFailureBytes {
		f.bytes -= len(f.kept[0].Payload)
		f.kept[0] = FailedMessage{}
		f.kept = f.kept[1:]
	}
}
