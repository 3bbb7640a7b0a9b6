package flower

import (
	"container/list"
	"context"
	"sync"
)

// budget admits messages up to a total number of bytes, in the order of their
// arrival. A message that is larger than the total is admitted alone.
type budget struct {
	size int64

	mu      sync.Mutex
	used    int64
	waiting list.List // of *ticket
}

type ticket struct {
	size  int64
	ready chan struct{} // closed once admitted
}

// acquire waits until the bytes are free. The function that it returns frees
// them.
func (b *budget) acquire(ctx context.Context, size int64) (func(), error) {
	size = min(size, b.size)
	t := &ticket{size, make(chan struct{})}
	b.mu.Lock()
	place := b.waiting.PushBack(t)
	b.admitLocked()
	b.mu.Unlock()
	select {
	case <-t.ready:
		return func() { b.free(size) }, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-t.ready: // at the same moment
		b.used -= size
	default:
		b.waiting.Remove(place)
	}
	b.admitLocked() // the next in the queue may be smaller
	return nil, context.Cause(ctx)
}

func (b *budget) free(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= size
	b.admitLocked()
}

// admitLocked admits messages from the front of the queue as long as they fit.
func (b *budget) admitLocked() {
	for e := b.waiting.Front(); e != nil; e = b.waiting.Front() {
		t := e.Value.(*ticket)
		if b.used+t.size > b.size {
			return
		}
		b.used += t.size
		b.waiting.Remove(e)
		close(t.ready)
	}
}
