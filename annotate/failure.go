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
	n.failed.Add(1)
	n.mu.Lock()
	n.last, n.lastAt = cause.Error(), time.Now()
	n.mu.Unlock()
	c.log.Error("message failed", "topic", m.Topic, "bytes", len(m.Payload), "error", cause)
}

// MessageError says why a message failed for another reason than its mapping,
// whose errors are those of package rml.
type MessageError struct {
	// Reason says what is wrong with the message, or what was done with it
	// when Err happened.
	Reason string
	// Err is the cause, if there is one.
	Err error
}

// Error returns the reason and the cause.
func (e *MessageError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *MessageError) Unwrap() error { return e.Err }

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
	for inner := cause; inner != nil; inner = errors.Unwrap(inner) {
		r.Cause = inner.Error()
	}
	return r
}

// failureText is the payload of an error message, in the form that consumers
// of the contract know: the class of the error and its text.
func failureText(cause error) string {
	return fmt.Sprintf("Failure(%s: %s)", strings.TrimPrefix(fmt.Sprintf("%T", cause), "*"), cause)
}
