package annotate

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats are the counts of a channel since it was created. Starting and stopping
// do not reset them. The tags metric and help describe them for Prometheus.
type Stats struct {
	Received      uint64 `metric:"messages_received_total" help:"Messages received, including redeliveries."`
	ReceivedBytes uint64 `metric:"received_bytes_total" help:"Bytes of the received messages."`

	// Published counts outputs that the broker confirmed and whose inputs were acknowledged.
	Published      uint64 `metric:"messages_published_total" help:"Messages whose annotated output was confirmed."`
	PublishedBytes uint64 `metric:"published_bytes_total" help:"Bytes of the confirmed outputs."`

	Failed uint64 `metric:"messages_failed_total" help:"Messages that could not be annotated or published."`
	// Invalid counts in Failed too.
	Invalid uint64 `metric:"messages_invalid_total" help:"Messages whose output violates the shapes; they have failed."`
	// Warned is the number of messages whose output violates nothing and has results
	// of other severities of the shapes, such as sh:Warning.
	Warned uint64 `metric:"messages_warned_total" help:"Messages that were published although the shapes warn of them."`
	// Revoked messages were revoked before their outputs were published, because the
	// partition went to another consumer or a transaction was undone.
	Revoked uint64 `metric:"messages_revoked_total" help:"Messages that the broker revoked, to deliver them again."`
	// Empty is the number of messages for which no iterator of the mapping selected a record, or
	// nothing that the mapping refers to was present. Their outputs are empty documents.
	Empty uint64 `metric:"messages_without_statements_total" help:"Messages without a statement in their output."`
	// Unmatched counts in Empty too.
	Unmatched uint64 `metric:"messages_unmatched_total" help:"Messages in which no iterator selected a record."`

	// IllTyped literals are published as they are, see [rml.Tally].
	IllTyped uint64 `metric:"literals_ill_typed_total" help:"Literals whose text their datatype does not have, published unchanged."`
	// IrregularRows is the number of rows of CSV that the dialect carml cut or filled up, because
	// they have more or fewer cells than the header, read in one with the rows after them, because they
	// are cut inside quotes, or skipped as comments, see [rml.Tally].
	IrregularRows uint64 `metric:"rows_irregular_total" help:"Rows of CSV that were cut, filled up or skipped as comments."`

	NotesDropped uint64 `metric:"monitor_notes_dropped_total" help:"Monitoring notes dropped because their broker was too slow."`
	// Reconnects counts the connections of transports that count them, by a method
	// Reconnects() uint64 of their subscriptions and publishers.
	Reconnects uint64 `metric:"reconnects_total" help:"Restored connections of input and output."`
	// Lag is nil unless the channel runs and the transport knows the lag, by a method
	// Lag() (int64, bool) of its subscriptions.
	Lag *int64 `metric:"lag_messages" help:"Messages that wait at the input broker, if it reports them."`

	Latency Latency `metric:"latency_seconds" help:"Time from the arrival of a message to its acknowledgement."`
	// LastError is the text of the newest failure, and LastErrorTime its time. They are
	// empty and zero before the first failure.
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

// Stats returns the current counts.
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
			if lag, known := lagging.Lag(); known {
				stats.Lag = &lag
			}
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
