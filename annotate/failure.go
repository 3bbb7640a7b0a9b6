package annotate

import (
	"fmt"
	"strings"
	"time"
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

// failureText is the payload of an error message, in the form that consumers
// of the contract know: the class of the error and its text.
func failureText(cause error) string {
	return fmt.Sprintf("Failure(%s: %s)", strings.TrimPrefix(fmt.Sprintf("%T", cause), "*"), cause)
}
