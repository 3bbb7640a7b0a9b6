package annotate

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/annotate/rml"
)

const (
	// warnedFor is for how many messages after one with a warning a channel keeps its warning.
	warnedFor = 100
	// keptWarningEvery is how often a message with a warning is kept, at most.
	keptWarningEvery = 100 * time.Millisecond
)

// Warning means that one of the newest messages was published and is probably a mistake.
type Warning struct {
	// Reason describes what was noticed; it is empty without a warning.
	Reason string
	// Time is when.
	Time time.Time
}

// Warnings are what a channel noticed about the messages that it published: one of which no iterator of
// the mapping selects a record, one that gives no statement, one with literals whose text their
// datatype does not have, or one with rows of CSV that do not have the cells of the header. Its methods are safe for concurrent use.
type Warnings struct{ channel *Channel }

// Warnings returns the warnings of the channel.
func (c *Channel) Warnings() *Warnings { return &Warnings{c} }

// Newest returns what was noticed about the newest 100 messages that the present mapping mapped.
func (w *Warnings) Newest() Warning { return w.channel.mapping.Load().noted.warning() }

// Messages returns the newest messages with a warning, newest first: 20 at most, with 2 MiB of
// payloads together, and ten per second. They are kept in memory while the channel exists. The
// caller must not change the payloads.
func (w *Warnings) Messages() []FailedMessage { return w.channel.warned.newest() }

// noted is what was noticed about the messages that one mapping mapped.
type noted struct {
	mapped atomic.Uint64 // messages that it mapped
	last   atomic.Uint64 // which of them was the newest with a warning, counted from 1; 0 for none

	mu     sync.Mutex
	newest Warning
	keptAt time.Time
}

// warning returns what was noticed about the newest messages.
func (n *noted) warning() Warning {
	if last := n.last.Load(); last == 0 || n.mapped.Load()-last >= warnedFor {
		return Warning{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.newest
}

// note takes what a mapper of the mapping noticed about a message. It returns the message and true if that
// is to be kept.
func (c *compiledMapping) note(m *Message, mapper *rml.Mapper, tally rml.Tally) (FailedMessage, bool) {
	n := &c.noted
	number := n.mapped.Add(1)
	if tally.Statements > 0 && tally.IllTyped+tally.LongRows+tally.ShortRows+tally.TornRows == 0 {
		return FailedMessage{}, false
	}
	n.last.Store(number)
	now := time.Now()
	n.mu.Lock()
	if !n.keptAt.IsZero() && now.Sub(n.keptAt) < keptWarningEvery {
		n.mu.Unlock()
		return FailedMessage{}, false
	}
	n.keptAt = now
	n.mu.Unlock()

	message := newFailedMessage(*m, c.format, notice(mapper, tally))
	n.mu.Lock()
	n.newest = Warning{Reason: message.Reason, Time: message.Time}
	n.mu.Unlock()
	return message, true
}

// notice returns what a mapper noticed about a message, in the form of an error.
func notice(mapper *rml.Mapper, tally rml.Tally) *rml.MessageError {
	if found := mapper.IllTyped(); len(found) > 0 {
		return &rml.MessageError{Node: found[0].Node, Place: found[0].Place, Err: fmt.Errorf(
			"literals have a text that their datatype does not have, %d of them, such as %v", tally.IllTyped, found[0])}
	}
	if rows := mapper.IrregularRows(); len(rows) > 0 {
		return &rml.MessageError{Place: rows[0].Place, Err: errors.New(rows[0].String())}
	}
	if tally.Records == 0 {
		const shown = 3
		unmatched := mapper.Unmatched()
		return &rml.MessageError{Err: fmt.Errorf("no statements: %s%s",
			strings.Join(unmatched[:min(len(unmatched), shown)], "; "), more(max(0, len(unmatched)-shown)))}
	}
	return &rml.MessageError{Err: fmt.Errorf("no statements from %d records", tally.Records)}
}
