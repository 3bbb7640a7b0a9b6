package overview

import (
	"context"
	"sync"
	"time"
)

// Inventory counts the records of a block for the overview. A count may read all of
// them. The overview therefore shows the last count while the next one runs, and counting
// takes at most a fiftieth of the time, however often the page is loaded. [Tally] returns one.
type Inventory struct {
	ctx   context.Context // of the program
	count func(context.Context) ([]Fact, error)

	mu    sync.Mutex
	busy  bool
	due   time.Time // of the next count
	known bool      // a count has ended
	facts []Fact
	err   error
}

const (
	inventoryPause = 2 * time.Second // between two counts, at least
	inventoryShare = 50              // the pause is that many times as long as the count
	inventoryFirst = time.Second     // how long the first page waits for the first count
)

// Tally returns the counts of a function, whose context is that of the program.
func Tally(ctx context.Context, count func(context.Context) ([]Fact, error)) *Inventory {
	return &Inventory{ctx: ctx, count: count}
}

// Show adds the counts to a block, or the error of counting.
func (i *Inventory) Show(b *Block) {
	i.mu.Lock()
	if !i.busy && !time.Now().Before(i.due) {
		i.busy = true
		done := make(chan struct{})
		go func() {
			defer close(done)
			i.take()
		}()
		if !i.known {
			i.mu.Unlock()
			select {
			case <-done:
			case <-time.After(inventoryFirst):
			}
			i.mu.Lock()
		}
	}
	defer i.mu.Unlock()
	b.Facts = append(b.Facts, i.facts...)
	if i.err != nil && b.Fault == "" {
		b.Fault = i.err.Error()
	}
}

// take counts once.
func (i *Inventory) take() {
	begin := time.Now()
	facts, err := i.count(i.ctx)
	took := time.Since(begin)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.busy, i.known, i.err = false, true, err
	i.due = time.Now().Add(max(inventoryPause, inventoryShare*took))
	if err == nil {
		i.facts = facts
	}
}
