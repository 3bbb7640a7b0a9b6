package multilink

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
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

// reportClaim reports that a peer sent from an address of another one, or claimed its
// address of IP.
func (b *Bond) reportClaim(c ethernet.Claim) {
	p := b.forwarding.Load()
	name, owner := "", "this host"
	if from := p.peers[c.From]; from != nil {
		name = from.name
	}
	if c.Owner != ethernet.LocalPort {
		owner = "a peer that was removed"
		if had := p.peers[c.Owner]; had != nil {
			owner = fmt.Sprintf("%q", had.name)
		}
	}
	address := net.HardwareAddr(c.Address[:]).String()
	if c.VLAN != 0 {
		address += fmt.Sprintf(" in VLAN %d", c.VLAN)
	}
	if c.IP.IsValid() {
		address = c.IP.String()
	}
	reason := fmt.Sprintf("sends from address %s, which is that of %s; these frames are dropped", address, owner)
	if c.Moved {
		reason = fmt.Sprintf("sends from address %s, which was that of %s and moved here", address, owner)
	}
	b.log.Warn("address of another peer", "peer", name, "address", address, "owner", owner, "moved", c.Moved)
	b.events.publish([]status.Event{{Time: time.Now(), Type: "address", Peer: name, Reason: reason}})
}
