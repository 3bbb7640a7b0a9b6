package annotate

import (
	"context"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/notify"
)

// job is one message in the pipeline. Jobs are created once and used again, so
// that a message costs one allocation here: its output, which by the contract
// of [Message] is never changed again.
type job struct {
	delivery Delivery
	at       time.Time        // when it arrived
	mapping  *compiledMapping // what it is mapped by
	out      []byte           // the output of the mapping; the publisher's from then on
	held     int              // bytes taken from the budget
	err      error            // why the message could not be annotated
	acked    bool             // it is acknowledged already
	spans    spans

	// mapped receives once a worker is done with the job, settled once
	// nothing more will happen to its output: nil, or why it must not be
	// acknowledged, or a refusal.
	mapped  chan struct{}
	settled chan error
	// confirmed sends to settled, in the form that a publisher takes.
	confirmed func(error)
}

func newJob() *job {
	j := &job{mapped: make(chan struct{}, 1), settled: make(chan error, 1)}
	j.confirmed = func(err error) { j.settled <- err }
	return j
}

func (j *job) reset() {
	j.delivery = Delivery{}
	j.mapping = nil
	j.out = nil
	j.held = 0
	j.err = nil
	j.acked = false
}

// isRevoked reports whether the broker has taken the message back.
func (j *job) isRevoked() bool { return j.delivery.Revoked != nil && j.delivery.Revoked() }

// budget bounds the bytes of the messages in flight. One message is always
// let through, however large, so that no message blocks the stream.
type budget struct {
	mu    sync.Mutex
	used  int
	limit int
	freed chan struct{} // capacity 1: there may be room now
}

func newBudget(limit int) *budget {
	return &budget{limit: limit, freed: make(chan struct{}, 1)}
}

// take waits for room for n bytes. Only one goroutine may call it at a time.
func (b *budget) take(ctx context.Context, n int) error {
	for {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= b.limit {
			b.used += n
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-b.freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add takes n bytes without waiting: for what a message that is already in
// has grown to. It delays the next take.
func (b *budget) add(n int) {
	b.mu.Lock()
	b.used += n
	b.mu.Unlock()
}

func (b *budget) release(n int) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	notify.Send(b.freed)
}
