package supernode

import (
	"container/list"
	"context"
	"sync"
)

// budget admits answers up to a total number of bytes, in the order of their arrival. One
// that is larger than the total is admitted alone.
//
// The size of an answer is an estimate until all of its objects are there, so a charge can
// grow. Two answers that are both half there must not wait for each other: what does not
// fit is lent to one charge at a time, up to the limit of a message.
type budget struct {
	size int64

	mu      sync.Mutex
	used    int64
	waiting list.List // of *charge, for their first bytes
	growing list.List // of *growth
	over    *charge   // has more than fits
}

// charge is what one answer takes from the budget.
type charge struct {
	budget *budget
	held   int64
	ready  chan struct{} // closed once admitted
	place  *list.Element // in waiting; nil once admitted or released
	ended  bool          // released
}

// growth is a charge that waits for more bytes.
type growth struct {
	charge *charge
	bytes  int64
	ready  chan struct{}
}

// reserve asks for bytes. The charge is admitted when its channel is closed, and must be
// released in any case.
func (b *budget) reserve(bytes int64) *charge {
	c := &charge{budget: b, held: min(bytes, b.size), ready: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.place = b.waiting.PushBack(c)
	b.admitLocked()
	return c
}

// acquire reserves bytes and waits for them.
func (b *budget) acquire(ctx context.Context, bytes int64) (*charge, error) {
	c := b.reserve(bytes)
	select {
	case <-c.ready:
		return c, nil
	case <-ctx.Done():
		c.release()
		return nil, context.Cause(ctx)
	}
}

// grow adds bytes to an admitted charge.
func (c *charge) grow(ctx context.Context, bytes int64) error {
	b := c.budget
	b.mu.Lock()
	g := &growth{c, bytes, make(chan struct{})}
	place := b.growing.PushBack(g)
	b.admitLocked()
	b.mu.Unlock()
	select {
	case <-g.ready:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-g.ready:
		if c.ended {
			return errDropped
		}
		return nil
	default:
	}
	b.growing.Remove(place)
	return context.Cause(ctx)
}

// shrink gives back what an admitted charge has beyond bytes.
func (c *charge) shrink(bytes int64) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	if bytes < c.held {
		c.budget.used -= c.held - bytes
		c.held = bytes
	}
	c.settleLocked()
}

// release gives everything back, and ends the wait for more. A second call does nothing.
func (c *charge) release() {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.place != nil {
		b.waiting.Remove(c.place)
		c.place, c.held = nil, 0
	}
	b.used -= c.held
	c.held, c.ended = 0, true
	c.settleLocked()
}

// settleLocked ends a loan that is no longer needed.
func (c *charge) settleLocked() {
	b := c.budget
	if b.over == c && (c.held == 0 || b.used <= b.size) {
		b.over = nil
	}
	b.admitLocked()
}

// admitLocked admits what fits: first charges that grow, since they end sooner.
func (b *budget) admitLocked() {
	for e := b.growing.Front(); e != nil; {
		g, next := e.Value.(*growth), e.Next()
		if g.charge.ended {
			b.growing.Remove(e)
			close(g.ready)
			e = next
			continue
		}
		fits := b.used+g.bytes <= b.size
		if fits || b.over == nil || b.over == g.charge {
			if !fits {
				b.over = g.charge
			}
			b.used += g.bytes
			g.charge.held += g.bytes
			b.growing.Remove(e)
			close(g.ready)
		}
		e = next
	}
	for e := b.waiting.Front(); e != nil; e = b.waiting.Front() {
		c := e.Value.(*charge)
		if b.used+c.held > b.size {
			return
		}
		b.used += c.held
		b.waiting.Remove(e)
		c.place = nil
		close(c.ready)
	}
}

// inUse returns how many bytes are admitted.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
