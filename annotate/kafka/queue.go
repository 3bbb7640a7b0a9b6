package kafka

import (
	"context"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// busy reports whether messages of the partition are being worked on.
func (s *subscription) busy(c *claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !c.gone.Load() && (c.unacknowledged() || s.tx != nil && len(c.handed) > 0)
}

// enqueue puts a message into the queue as soon as there is room, and reports
// whether there may be more.
func (s *subscription) enqueue(ctx context.Context, c *claim, m *sarama.ConsumerMessage) bool {
	waited := false
	for {
		done, more := s.tryEnqueue(c, m)
		if done {
			if waited {
				notify.Send(s.room) // other partitions may wait too
			}
			return more
		}
		waited = true
		select {
		case <-s.room:
		case <-ctx.Done():
			notify.Send(s.room)
			return false
		}
	}
}

func (s *subscription) tryEnqueue(c *claim, m *sarama.ConsumerMessage) (done, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.broker.opts
	switch {
	case c.gone.Load():
		return true, false
	case s.paused:
		return false, true // until the session ends
	case len(s.queue) > 0 && (len(s.queue) >= o.QueueMessages || s.bytes+len(m.Key)+len(m.Value) > o.QueueBytes):
		return false, true
	}
	if len(s.queue) == 0 {
		notify.Send(s.arrived)
	}
	s.queue = append(s.queue, c.arrival(m))
	s.bytes += len(m.Key) + len(m.Value)
	return true, true
}

// dropQueue forgets what was not handed out; it comes again.
func (s *subscription) dropQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.queue)
	s.queue, s.bytes = nil, 0
	notify.Send(s.room)
}

// Receive implements annotate.Subscription. While as many messages as the
// window allows are handed out and not acknowledged it waits.
func (s *subscription) Receive(ctx context.Context) (annotate.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return annotate.Delivery{}, err
		}
		m, err := s.next()
		if err != nil {
			return annotate.Delivery{}, err
		}
		if m != nil {
			return m.delivery(s), nil
		}
		select {
		case <-s.arrived:
		case <-ctx.Done():
			return annotate.Delivery{}, ctx.Err()
		case <-s.ctx.Done():
			return annotate.Delivery{}, annotate.ErrBrokerClosed
		}
	}
}

// next takes the oldest message from the queue, if there is one and the window
// allows it.
func (s *subscription) next() (*inbound, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused {
		return nil, annotate.ErrBrokerClosed
	}
	if len(s.queue) == 0 || s.unacked >= s.window {
		return nil, nil
	}
	m := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= len(m.key) + len(m.value)
	notify.Send(s.room)
	m.claim.handed = append(m.claim.handed, m)
	s.unacked++
	return m, nil
}
