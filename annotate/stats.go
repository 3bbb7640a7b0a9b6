package annotate

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats are the counts of a channel since it was made; starting and stopping
// does not reset them.
type Stats struct {
	// Received is the number of messages that came in, redeliveries included,
	// and ReceivedBytes their size.
	Received, ReceivedBytes uint64
	// Published is the number of outputs that the broker confirmed and whose
	// inputs were acknowledged, and PublishedBytes their size.
	Published, PublishedBytes uint64
	// Failed is the number of messages that could not be annotated or whose
	// output the broker refused.
	Failed uint64
	// Invalid is the number of messages whose output violates the shapes of the
	// mapping. They count in Failed too.
	Invalid uint64
	// Warned is the number of messages whose output violates nothing and has results
	// of other severities of the shapes, such as sh:Warning. They are published.
	Warned uint64
	// Revoked is the number of messages that the broker took back before their
	// outputs were published, because the partition went to another consumer
	// or a transaction was undone. They are delivered again.
	Revoked uint64
	// Empty is the number of messages that gave no statement, because no
	// iterator of the mapping selected a record or nothing that the mapping
	// refers to was there. Their outputs are empty documents.
	Empty uint64
	// Unmatched is the number of messages in which no iterator of the mapping selected a
	// record. They count in Empty too.
	Unmatched uint64
	// IllTyped is the number of literals whose text their datatype does not
	// have. They are published as they are, see [rml.Tally].
	IllTyped uint64
	// IrregularRows is the number of rows of CSV that the dialect carml cut or filled up, because
	// they have more or fewer cells than the header, read in one with the rows after them, because they
	// are cut inside quotes, or passed over as comments, see [rml.Tally].
	IrregularRows uint64
	// NotesDropped is the number of monitoring notes that were dropped because
	// their broker was too slow.
	NotesDropped uint64
	// Reconnects is how often connections came back after they were lost, as
	// far as the transport counts that (it has a method Reconnects() uint64 on
	// its subscriptions and publishers).
	Reconnects uint64
	// Lag is the number of messages that wait at the broker, when HasLag says
	// that the transport knows it (it has a method Lag() (int64, bool) on its
	// subscriptions) and the channel runs.
	Lag    int64
	HasLag bool
	// Latency is the time that acknowledged messages took.
	Latency Latency
	// LastError is the text of the newest failure, and LastErrorTime when it
	// was; empty and zero when there was none.
	LastError     string
	LastErrorTime time.Time
}

// counters are Stats while they count.
type counters struct {
	received, receivedBytes   atomic.Uint64
	published, publishedBytes atomic.Uint64
	failed, notesDropped      atomic.Uint64
	revoked                   atomic.Uint64
	empty, illTyped           atomic.Uint64
	unmatched, irregular      atomic.Uint64
	invalid, warned           atomic.Uint64
	reconnects                atomic.Uint64 // of the runs before this one
	latency                   histogram

	mu     sync.Mutex
	last   string
	lastAt time.Time
}

// Stats returns the counts of now.
func (c *Channel) Stats() Stats {
	n := &c.counters
	n.mu.Lock()
	last, at := n.last, n.lastAt
	n.mu.Unlock()
	stats := Stats{
		Received: n.received.Load(), ReceivedBytes: n.receivedBytes.Load(),
		Published: n.published.Load(), PublishedBytes: n.publishedBytes.Load(),
		Failed: n.failed.Load(), Invalid: n.invalid.Load(), Warned: n.warned.Load(),
		NotesDropped: n.notesDropped.Load(), Revoked: n.revoked.Load(),
		Empty: n.empty.Load(), IllTyped: n.illTyped.Load(), Unmatched: n.unmatched.Load(), IrregularRows: n.irregular.Load(),
		Latency:   n.latency.snapshot(),
		LastError: last, LastErrorTime: at,
	}
	c.mu.Lock()
	p := c.run
	stats.Reconnects = n.reconnects.Load()
	if p != nil {
		stats.Reconnects += p.reconnects()
	}
	c.mu.Unlock()
	if p != nil {
		if lagging, ok := p.sub.(interface{ Lag() (int64, bool) }); ok {
			stats.Lag, stats.HasLag = lagging.Lag()
		}
	}
	return stats
}

func (p *pipeline) reconnects() uint64 { return reconnects(p.sub) + reconnects(p.out) }

func reconnects(connection any) uint64 {
	if counted, ok := connection.(interface{ Reconnects() uint64 }); ok {
		return counted.Reconnects()
	}
	return 0
}
