package annotate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/rml"
)

// recordFailure counts and logs a failed message. The payload stays out of
// the log: it may be large and confidential.
func (c *Channel) recordFailure(m Message, cause error) {
	n := &c.counters
	n.mu.Lock()
	n.last, n.lastAt = cause.Error(), time.Now()
	n.mu.Unlock()
	c.mu.Lock()
	format := c.config.Mapping.InputFormat
	c.mu.Unlock()
	c.failures.keep(newFailedMessage(m, format, cause))
	if violated := (*ShapeError)(nil); errors.As(cause, &violated) {
		n.invalid.Add(1)
	}
	n.failed.Add(1) // last: an observer of the count finds the message
	c.log.Error("message failed", "topic", m.Topic, "bytes", len(m.Payload), "error", cause)
}

// failure is why a message failed for another reason than its mapping. The
// errors of a mapping are a [*rml.MessageError].
type failure struct {
	reason string // what is wrong with the message, or what was done when err happened
	err    error  // the cause, if there is one
}

// Error returns the reason and the cause.
func (e *failure) Error() string {
	if e.err == nil {
		return e.reason
	}
	return e.reason + ": " + e.err.Error()
}

// Unwrap returns the cause.
func (e *failure) Unwrap() error { return e.err }

// failureMessage is the payload of an error message.
func (c *Channel) failureMessage(format ErrorFormat, m Message, cause error) []byte {
	if format != ErrorJSON {
		return []byte(failureText(cause))
	}
	// A struct of strings and numbers always has a JSON form.
	report, _ := json.Marshal(newFailureReport(c.ID(), m, cause))
	return report
}

// failureReport is the structured form of an error message.
type failureReport struct {
	Channel string    `json:"channel"`
	Time    time.Time `json:"time"`
	// Topic is where the message came in.
	Topic string `json:"topic"`
	// Error is the whole text, Cause its last part.
	Error string `json:"error"`
	Cause string `json:"cause"`
	// Node is the node of the mapping that could not be evaluated, and Place
	// where in the message that was; empty where neither applies.
	Node  string `json:"node,omitempty"`
	Place string `json:"place,omitempty"`
	// Violations are those of the shapes, at most 20; empty where the message
	// failed otherwise.
	Violations []violationReport `json:"violations,omitempty"`
	// Payload identifies the message without repeating it.
	Payload payloadDigest `json:"payload"`
}

type payloadDigest struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newFailureReport(channel string, m Message, cause error) failureReport {
	r := failureReport{
		Channel: channel, Time: time.Now().UTC(), Topic: m.Topic, Error: cause.Error(), Cause: cause.Error(),
		Payload: payloadDigest{len(m.Payload), fmt.Sprintf("%x", sha256.Sum256(m.Payload))},
	}
	var mapping *rml.MessageError
	if errors.As(cause, &mapping) {
		r.Node, r.Place = mapping.Node, mapping.Place
	}
	if violated := (*ShapeError)(nil); errors.As(cause, &violated) {
		r.Violations = violated.reports()
	}
	for inner := cause; inner != nil; inner = errors.Unwrap(inner) {
		r.Cause = inner.Error()
	}
	return r
}

// failureText is the payload of an error message, in the form that consumers
// of the contract read: the class of the error and its text.
func failureText(cause error) string {
	class := strings.TrimPrefix(fmt.Sprintf("%T", cause), "*")
	if _, ours := cause.(*failure); ours {
		class = "annotate.MessageError" // the name that consumers know
	}
	return fmt.Sprintf("Failure(%s: %s)", class, cause)
}
