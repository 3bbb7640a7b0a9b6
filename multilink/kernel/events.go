//go:build linux

package kernel

import (
	"context"
	"sync"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// backlog is how many events may wait for a reader.
const backlog = 1024

// hub passes events to readers.
type hub struct {
	mu      sync.Mutex
	readers map[*reader]struct{}
	closed  chan struct{}
}

// reader is one call of [Plane.Events].
type reader struct {
	waiting []status.Event
	missed  int
	wake    chan struct{} // holds one
}

func newHub() *hub {
	return &hub{readers: map[*reader]struct{}{}, closed: make(chan struct{})}
}

func (h *hub) publish(event status.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.readers {
		if len(r.waiting) == backlog {
			r.waiting = append(r.waiting[:0], r.waiting[1:]...)
			r.missed++
		}
		r.waiting = append(r.waiting, event)
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (h *hub) close() { close(h.closed) }

// read calls f with every event from now on.
func (h *hub) read(ctx context.Context, f func(status.Event)) error {
	r := &reader{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	h.readers[r] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.readers, r)
		h.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.closed:
			return multilink.ErrClosed
		case <-r.wake:
		}
		h.mu.Lock()
		events := r.waiting
		if r.missed > 0 {
			events[0].Missed = r.missed
		}
		r.waiting, r.missed = nil, 0
		h.mu.Unlock()
		for _, event := range events {
			f(event)
		}
	}
}
