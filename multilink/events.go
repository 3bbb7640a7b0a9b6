package multilink

import (
	"context"
	"sync"

	"github.com/iotenablers/enablers/multilink/status"
)

// eventBacklog is how many events a slow reader may be behind.
const eventBacklog = 1024

// eventStream hands every event to every reader that listens.
type eventStream struct {
	mu      sync.Mutex
	readers map[*eventReader]struct{}
	closed  bool
}

// eventReader is a bounded queue of one reader.
type eventReader struct {
	queue  []status.Event
	missed int
	wake   chan struct{} // has room for one
}

func (s *eventStream) publish(events []status.Event) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		for _, e := range events {
			if len(r.queue) == eventBacklog {
				r.queue = append(r.queue[:0], r.queue[1:]...)
				r.missed++
			}
			r.queue = append(r.queue, e)
		}
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// listen calls f with every event until the context ends or the stream is closed.
func (s *eventStream) listen(ctx context.Context, f func(status.Event)) error {
	r := &eventReader{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if s.readers == nil {
		s.readers = make(map[*eventReader]struct{})
	}
	s.readers[r] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.readers, r)
		s.mu.Unlock()
	}()
	var batch []status.Event
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		}
		s.mu.Lock()
		batch, r.queue = r.queue, batch[:0]
		missed, closed := r.missed, s.closed
		r.missed = 0
		s.mu.Unlock()
		if missed > 0 && len(batch) > 0 {
			batch[0].Missed = missed
		}
		for _, e := range batch {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f(e)
		}
		if closed {
			return ErrClosed
		}
	}
}

// close ends every listen, after what was published.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for r := range s.readers {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}
