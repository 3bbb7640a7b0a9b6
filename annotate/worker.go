package annotate

import (
	"bytes"
	"fmt"
	"runtime/debug"

	"github.com/iotenablers/enablers/annotate/rml"
)

// keptBuffer is the largest output that a worker keeps memory for. A rare large
// message does not hold its memory forever.
const keptBuffer = 1 << 20

// worker maps messages, one at a time.
type worker struct {
	pipeline *pipeline
	mapping  *compiledMapping
	mapper   *rml.Mapper // of the mapping
	buffer   []byte      // outputs are written here and then copied at their size
}

// mapMessage annotates one message. A panic of the engine is this message's
// failure, not the service's.
func (w *worker) mapMessage(j *job) {
	c := w.pipeline.channel
	defer func() {
		if cause := recover(); cause != nil {
			w.mapping = nil
			w.mapper = nil
			w.buffer = nil
			j.out, j.err = nil, &failure{reason: fmt.Sprintf("the mapping engine failed: %v", cause)}
			c.log.Error("mapping engine panicked", "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	if size, limit := len(j.delivery.Payload), c.env.MaxMessageBytes; size > limit {
		j.err = &failure{reason: fmt.Sprintf("message of %d bytes is larger than the limit of %d bytes", size, limit)}
		return
	}
	if w.mapping != j.mapping {
		w.mapping, w.mapper = j.mapping, j.mapping.plan.NewMapper()
	}
	out, err := w.apply(c, j.delivery.Payload)
	if err != nil {
		j.err = err
		return
	}
	w.count(c, &j.delivery.Message)
	j.out = bytes.Clone(out)
	if w.buffer = out; cap(out) > keptBuffer {
		w.buffer = nil
	}
}

// count adds what the engine noticed about a message that it mapped. The first
// of a kind is logged, the others only counted: there may be one per message.
func (w *worker) count(c *Channel, m *Message) {
	tally := w.mapper.Tally()
	if warned, kept := w.mapping.note(m, w.mapper, tally); kept {
		c.warned.keep(warned)
	}
	if tally.Records == 0 {
		c.counters.unmatched.Add(1)
	}
	if tally.Statements == 0 && c.counters.empty.Add(1) == 1 {
		c.log.Warn("a message has no statements; the status counts further ones",
			"records", tally.Records, "unmatched", w.mapper.Unmatched())
	}
	if n := uint64(tally.LongRows + tally.ShortRows + tally.TornRows + tally.CommentRows); n > 0 && c.counters.irregular.Add(n) == n {
		c.log.Warn("rows of CSV do not have the cells of the header; the status counts further ones",
			"cut", tally.LongRows, "filled up", tally.ShortRows, "torn", tally.TornRows, "comments", tally.CommentRows)
	}
	if n := uint64(tally.IllTyped); n > 0 && c.counters.illTyped.Add(n) == n {
		c.log.Warn("a message has literals that their datatype does not have; the status counts further ones", "literals", n)
	}
}
