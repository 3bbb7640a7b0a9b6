package kafka

import (
	"context"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// busy reports whether messages of the partition are in process.
func (s *subscription) busy(p *partition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !p.gone.Load() && (p.unacknowledgedLocked() || (s.tx != nil && len(p.handed) > 0))
}

// enqueue waits for room in the queue, appends a message, and reports whether the queue
// accepts more of the partition.
func (s *subscription) enqueue(ctx context.Context, p *partition, m *sarama.ConsumerMessage) bool {
	waited := false
	for {
		done, more := s.tryEnqueue(p, m)
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

func (s *subscription) tryEnqueue(p *partition, m *sarama.ConsumerMessage) (done, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.broker.opts
	next := p.arrival(m)
	switch {
	case p.gone.Load():
		return true, false
	case s.paused:
		return false, true // until the generation ends
	case len(s.queue) > 0 && (len(s.queue) >= o.QueueMessages || s.bytes+next.size() > o.QueueBytes):
		return false, true
	}
	if len(s.queue) == 0 {
		notify.Send(s.arrived)
	}
	s.queue = append(s.queue, next)
	s.bytes += next.size()
	return true, true
}

// dropQueue removes the messages that were not handed out. They are delivered again.
func (s *subscription) dropQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.queue)
	s.queue, s.bytes = nil, 0
	notify.Send(s.room)
}

// Receive implements annotate.Subscription. It waits while the window is full of messages
// that are not acknowledged.
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

// next removes the oldest message from the queue and returns it, or nil if the queue is
// empty or the window full.
func (s *subscription) next() (*inbound, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused {
		return nil, annotate.ErrBrokerClosed
	}
	if err := s.place.taken(); err != nil {
		return nil, err
	}
	if len(s.queue) == 0 || s.unacked >= s.window {
		return nil, nil
	}
	m := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= m.size()
	notify.Send(s.room)
	m.partition.handed = append(m.partition.handed, m)
	s.unacked++
	return m, nil
}
