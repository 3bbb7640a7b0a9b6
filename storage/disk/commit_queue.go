package disk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/iotenablers/enablers/storage"
)

// commitQueue lets changes that arrive while a transaction is being synced
// share the next one. A single writer never waits for others.
type commitQueue struct {
	database *bbolt.DB
	space    *space
	turn     chan struct{} // holds one token: the caller that has it commits for all

	mu      sync.Mutex
	waiting []*change
}

// change is the part of one caller in a transaction.
type change struct {
	// apply checks and then writes. When it returns a refusal (see isRefusal), it
	// has written nothing.
	apply func(tx *bbolt.Tx) error
	done  chan error // receives the outcome once, without blocking the sender
}

func newCommitQueue(database *bbolt.DB, space *space) *commitQueue {
	queue := &commitQueue{database: database, space: space, turn: make(chan struct{}, 1)}
	queue.turn <- struct{}{}
	return queue
}

// do applies a change and returns when it is durable, or when it is certain
// that it will never be applied, even if the context ends meanwhile. Only an
// error of the disk leaves the outcome open.
func (q *commitQueue) do(ctx context.Context, apply func(tx *bbolt.Tx) error) error {
	mine := &change{apply: apply, done: make(chan error, 1)}
	q.mu.Lock()
	q.waiting = append(q.waiting, mine)
	q.mu.Unlock()

	select {
	case err := <-mine.done:
		return err
	case <-ctx.Done():
		if q.withdraw(mine) {
			return ctx.Err()
		}
		return <-mine.done
	case <-q.turn:
	}
	defer func() { q.turn <- struct{}{} }()
	if batch := q.take(); len(batch) > 0 {
		q.commit(batch)
	}
	return <-mine.done
}

// withdraw removes a change from the queue and reports whether it was still
// waiting.
func (q *commitQueue) withdraw(mine *change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, mine)
	if at < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	return true
}

// take empties the queue.
func (q *commitQueue) take() []*change {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting
	q.waiting = nil
	return batch
}

// commit applies the changes in one transaction and sends each its outcome.
func (q *commitQueue) commit(batch []*change) {
	outcomes := make([]error, len(batch))
	all := func(err error) {
		for i := range outcomes {
			outcomes[i] = err
		}
	}
	err := guarded(func() error {
		q.apply(batch, outcomes, all)
		return nil
	})
	if err != nil {
		all(err)
	}
	for i, c := range batch {
		c.done <- outcomes[i]
	}
}

// apply applies the changes in one transaction and sets their outcomes, or that of all.
func (q *commitQueue) apply(batch []*change, outcomes []error, all func(error)) {
	tx, err := q.database.Begin(true)
	if err != nil {
		all(translate(err))
		return
	}
	defer tx.Rollback() // does nothing after Commit

	// No success is reported before the transaction is durable.
	results := make([]error, len(batch))
	written := false
	for i, c := range batch {
		results[i] = c.apply(tx)
		switch {
		case results[i] == nil:
			written = true
		case !isRefusal(results[i]):
			// It may have written a part, so no change of the transaction may stay.
			all(q.space.explain(results[i]))
			return
		}
	}
	if written {
		if err := tx.Commit(); err != nil {
			// Refused changes fail too: they were refused because of what others in this
			// transaction wrote.
			all(fmt.Errorf("commit: %w", q.space.explain(err)))
			return
		}
	}
	copy(outcomes, results)
}

// isRefusal reports whether an error means that the change wrote nothing.
func isRefusal(err error) bool {
	return errors.Is(err, storage.ErrNotFound) ||
		errors.Is(err, storage.ErrExists) ||
		errors.Is(err, storage.ErrConflict) ||
		errors.Is(err, errDamaged)
}
