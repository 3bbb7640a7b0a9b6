package session

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// Subscription implements annotate.Subscription.
type Subscription struct {
	*link
	filter string
	window int

	arrived chan struct{} // wakes Receive
	room    chan struct{} // wakes received
	acked   chan struct{} // wakes serve
	buffer  []byte        // used by serve

	granted  atomic.Bool // the broker has confirmed the subscription once
	closed   sync.Once
	closeErr error

	mu      sync.Mutex
	paused  bool
	current *Connection
	queue   []*inbound // arrived and not handed out
	bytes   int        // of the messages in queue
	handed  []*inbound // handed out on the current connection and not acknowledged to the broker
	unacked int        // number of handed without an Ack
	resumed int        // number of connections that resumed the session
}

// inbound is a message that arrived.
type inbound struct {
	message annotate.Message
	id      uint16
	qos     byte
	acked   bool
}

// size is the number of bytes that the message holds.
func (m *inbound) size() int {
	return len(m.message.Payload) + len(m.message.Trace.Parent) + len(m.message.Trace.State)
}

func newSubscription(k Client, filter string, window int) *Subscription {
	s := &Subscription{
		filter:  filter,
		window:  window,
		arrived: make(chan struct{}, 1),
		room:    make(chan struct{}, 1),
		acked:   make(chan struct{}, 1),
	}
	s.link = newLink(k, s)
	s.link.durable = true
	s.link.window = uint16(min(window, math.MaxUint16))
	return s
}

// attach implements traffic. A broker that has kept the session sends unacknowledged messages
// again, so the queue is dropped, except for messages of QoS 0, which come once at most. A
// broker that has lost the session sends nothing again, so the queue is kept.
func (s *Subscription) attach(c *Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = c
	if c.terms.SessionPresent {
		s.resumed++
		s.keepQoS0()
	} else {
		for _, m := range s.queue {
			m.qos = 0
		}
	}
	clear(s.handed)
	s.handed, s.unacked = s.handed[:0], 0
	notify.Send(s.arrived)
}

// keepQoS0 drops from the queue what the broker will send again. The caller
// holds s.mu.
func (s *Subscription) keepQoS0() {
	kept := make([]*inbound, 0, 8)
	s.bytes = 0
	for _, m := range s.queue {
		if m.qos == 0 {
			kept = append(kept, m)
			s.bytes += m.size()
		}
	}
	s.queue = kept
}

// ready implements traffic. A broker may send the messages of the session before it confirms
// the subscription. If that takes longer than ctx allows, or fills the queue, which only
// Receive empties, ready leaves the confirmation to serve: the messages show that there is a
// subscription.
func (s *Subscription) ready(ctx context.Context, c *Connection) error {
	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.requesting.Go(func() {
		defer cancel()
		err := c.protocol.Subscribe(request, s.filter, s.granted.Load())
		if err == nil {
			s.granted.Store(true)
		}
		c.subscribed <- err
	})
	select {
	case err := <-c.subscribed:
		return err
	case <-c.full:
		return nil
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded && s.receivedFrom(c) {
			return nil
		}
		cancel()
		return fmt.Errorf("subscription not confirmed: %w", ctx.Err())
	}
}

// receivedFrom reports whether a message of the session has arrived on the connection and
// waits for Receive, or was handed out.
func (s *Subscription) receivedFrom(c *Connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isOfSession := func(m *inbound) bool { return m.qos > 0 }
	return s.current == c && (len(s.handed) > 0 || slices.ContainsFunc(s.queue, isOfSession))
}

// confirmed implements traffic. A subscription publishes nothing.
func (s *Subscription) confirmed(*Connection, uint16, error) {}

// unreachable implements traffic.
func (s *Subscription) unreachable() {}

// received implements traffic. It waits while the queue is full, and the connection is not
// read for that time.
func (s *Subscription) received(c *Connection, m *inbound) {
	if s.enqueue(c, m) {
		return
	}
	notify.Send(c.full)
	c.Alive.stall()
	defer c.Alive.resume()
	for {
		select {
		case <-s.room:
		case <-c.lost:
			return
		}
		if s.enqueue(c, m) {
			notify.Send(s.room) // messages of QoS 0 come on a goroutine of their own, which may wait too
			return
		}
	}
}

// enqueue appends a message to the queue, and reports false if there is no room.
func (s *Subscription) enqueue(c *Connection, m *inbound) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != c || s.paused {
		return true // it is delivered again on the next connection
	}
	o := s.Config
	if len(s.queue) > 0 && (len(s.queue) >= o.QueueMessages || s.bytes+m.size() > o.QueueBytes) {
		return false
	}
	s.queue = append(s.queue, m)
	s.bytes += m.size()
	notify.Send(s.arrived)
	return true
}

// Receive implements annotate.Subscription. It waits while the window is full of messages
// that are not acknowledged.
func (s *Subscription) Receive(ctx context.Context) (annotate.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return annotate.Delivery{}, err
		}
		d, ok, err := s.next()
		if ok || err != nil {
			return d, err
		}
		select {
		case <-s.arrived:
		case <-ctx.Done():
			return annotate.Delivery{}, ctx.Err()
		case <-s.needed.Done():
			return annotate.Delivery{}, annotate.ErrBrokerClosed
		}
	}
}

// next hands out the oldest message in the queue.
func (s *Subscription) next() (annotate.Delivery, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		if s.paused {
			return annotate.Delivery{}, false, annotate.ErrBrokerClosed
		}
		return annotate.Delivery{}, false, nil
	}
	m := s.queue[0]
	if m.qos > 0 && s.unacked >= s.window {
		return annotate.Delivery{}, false, nil
	}
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= m.size()
	notify.Send(s.room)
	if m.qos == 0 {
		return annotate.Delivery{Message: m.message, Ack: func() {}}, true, nil
	}
	s.handed = append(s.handed, m)
	s.unacked++
	c, resumed := s.current, s.resumed
	return annotate.Delivery{
		Message: m.message,
		Ack:     func() { s.acknowledge(c, m) },
		Revoked: func() bool { return s.isResumed(resumed) },
	}, true, nil
}

// isResumed reports whether a further connection has resumed the session since the given
// count.
func (s *Subscription) isResumed(before int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resumed != before
}

// acknowledge marks a message as acknowledged. It ignores messages of earlier connections.
func (s *Subscription) acknowledge(c *Connection, m *inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != c || m.acked {
		return
	}
	m.acked = true
	s.unacked--
	notify.Send(s.acked)
	notify.Send(s.arrived)
}

// serve implements traffic. It sends the acknowledgements, and closes a connection whose
// subscription is refused late.
func (s *Subscription) serve(c *Connection) {
	for {
		s.sendAcks(c)
		select {
		case <-s.acked:
		case err := <-c.subscribed:
			if err != nil {
				c.Wire.Fail(err)
				_ = c.Wire.Close() // paho's reader fails, and the connection is lost
			}
		case <-c.lost:
			return
		case <-s.needed.Done():
			s.sendAcks(c)
			// Without this the broker might find the connection closed
			// before it has read the last acknowledgements.
			c.Alive.barrier(c.lost, s.aborted.Done())
			return
		}
	}
}

// sendAcks sends a PUBACK for each acknowledged message, from the oldest on, in order (MQTT 5
// section 4.6).
func (s *Subscription) sendAcks(c *Connection) {
	buffer := s.buffer[:0]
	s.mu.Lock()
	n := 0
	for n < len(s.handed) && s.handed[n].acked {
		m := s.handed[n]
		buffer = appendPuback(buffer, m.id)
		s.handed[n] = nil
		n++
	}
	s.handed = s.handed[n:]
	s.mu.Unlock()
	s.buffer = buffer
	if n == 0 {
		return
	}
	if err := c.Wire.Send(buffer); err != nil {
		_ = c.Wire.Close() // paho's reader fails, and the connection is lost
	}
}

// Pause implements annotate.Subscription. Messages in the queue stay with the broker. Messages
// of QoS 0 do not, so Receive still returns them.
func (s *Subscription) Pause(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
	s.keepQoS0()
	notify.Send(s.arrived)
	notify.Send(s.room)
	return nil
}

// Close implements annotate.Subscription.
func (s *Subscription) Close(ctx context.Context) error {
	first := false
	s.closed.Do(func() {
		first = true
		_ = s.Pause(ctx)
		if err := s.link.close(ctx); err != nil {
			s.closeErr = fmt.Errorf("close subscription of topic %q: the last acknowledgements may be lost: %w", s.filter, err)
		}
		if s.unnamed && !s.Version.EndsWithGoodbye() {
			_ = s.erase(ctx) // no client can resume it, and it may be gone already
		}
		s.mu.Lock()
		s.current = nil
		s.queue = nil
		s.handed = nil
		s.bytes = 0
		s.mu.Unlock()
	})
	if !first {
		return nil
	}
	return s.closeErr
}

// Forget implements annotate.Subscription. A connection with a clean start and without a
// session expiry replaces the session (MQTT 5 section 3.1.2.4), and the broker confirms it.
func (s *Subscription) Forget(ctx context.Context) error {
	closed := s.Close(ctx)
	if s.unnamed {
		return closed
	}
	if err := s.erase(ctx); err != nil {
		return fmt.Errorf("forget subscription of topic %q: %w", s.filter, err)
	}
	return nil
}

// erase replaces the session with one that ends at once.
func (s *Subscription) erase(ctx context.Context) error {
	eraser := newLink(s.Client, forgotten{})
	defer eraser.abort()
	eraser.settings = s.settings
	eraser.address = s.address
	eraser.secure = s.secure
	eraser.permit = s.permit
	c, err := eraser.connect(ctx)
	if err != nil {
		return err
	}
	eraser.leave(c)
	return nil
}

// forgotten is the traffic of a connection that only replaces a session.
type forgotten struct{}

func (forgotten) attach(*Connection)                       {}
func (forgotten) ready(context.Context, *Connection) error { return nil }
func (forgotten) received(*Connection, *inbound)           {}
func (forgotten) confirmed(*Connection, uint16, error)     {}
func (forgotten) serve(*Connection)                        {}
func (forgotten) unreachable()                             {}
