package annotate

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/internal/notify"
)

// errMemoryTakenOver ends a subscription whose name another one has taken.
var errMemoryTakenOver = errors.New("annotate: subscription taken over by another one of the same name")

// memoryName identifies a subscription.
type memoryName struct {
	kind       BrokerType
	subscriber string // by the topic's settings
	topic      string
	unnamed    *memoryQueue // distinguishes subscriptions without a subscriber
}

// newMemoryName returns the name of the subscription of a topic.
func newMemoryName(topic Topic) memoryName {
	name := memoryName{kind: topic.Broker, topic: topic.Name}
	if topic.Settings != nil {
		name.subscriber = topic.Settings.Subscriber()
	}
	return name
}

// memoryQueue holds the unacknowledged messages of one subscription. The
// broker's mutex protects it.
type memoryQueue struct {
	filter   string
	durable  bool
	messages []*memoryMessage
	handed   int // of messages, how many the reader was given
	reader   *memorySubscription
}

// memoryMessage is one message in one queue.
type memoryMessage struct {
	Message
	acknowledged bool
}

func (q *memoryQueue) push(m Message) {
	q.messages = append(q.messages, &memoryMessage{Message: m})
	if q.reader != nil {
		notify.Send(q.reader.wake)
	}
}

// rewind forgets what was handed out, so that it is handed out again.
// Deliveries of before can no longer be acknowledged.
func (q *memoryQueue) rewind() {
	q.handed = 0
	if q.reader != nil {
		q.reader.epoch++
		notify.Send(q.reader.wake)
	}
}

// trim drops the acknowledged messages at the front.
func (q *memoryQueue) trim() {
	n := 0
	for n < q.handed && q.messages[n].acknowledged {
		q.messages[n] = nil
		n++
	}
	q.messages = q.messages[n:]
	q.handed -= n
}

// memorySubscription is one connection to a queue. The broker's mutex protects
// everything below wake.
type memorySubscription struct {
	broker *MemoryBroker
	name   memoryName
	queue  *memoryQueue
	window int
	wake   chan struct{}

	epoch  int   // counts the connections, so that late acknowledgements are noticed
	paused bool  // no more intake
	ended  error // why there is nothing more at all; nil while alive
}

// end finishes the subscription. The caller holds the broker's mutex.
func (s *memorySubscription) end(why error) {
	if s.ended != nil {
		return
	}
	s.ended = why
	notify.Send(s.wake)
	if s.queue.reader == s {
		s.queue.reader = nil
		s.queue.handed = 0
	}
}

// Receive implements Subscription.
func (s *memorySubscription) Receive(ctx context.Context) (Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Delivery{}, err
		}
		d, ok, err := s.next()
		if ok || err != nil {
			return d, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Delivery{}, ctx.Err()
		}
	}
}

// next hands out a message if there is one and the window allows it.
func (s *memorySubscription) next() (Delivery, bool, error) {
	b, q := s.broker, s.queue
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case s.ended != nil:
		return Delivery{}, false, s.ended
	case s.paused:
		return Delivery{}, false, ErrBrokerClosed
	case b.down || q.handed >= s.window || q.handed == len(q.messages):
		return Delivery{}, false, nil
	}
	m := q.messages[q.handed]
	m.acknowledged = false
	q.handed++
	epoch := s.epoch
	message := m.Message
	message.Origin = memoryOrigin{m, epoch}
	return Delivery{
		Message: message,
		Ack:     func() { s.acknowledge(m, epoch) },
		Revoked: func() bool { return s.isRevoked(epoch) },
	}, true, nil
}

// memoryOrigin selects which delivery a transaction acknowledges.
type memoryOrigin struct {
	message *memoryMessage
	epoch   int
}

// isCurrent reports whether what was delivered at the epoch can still be
// acknowledged. The caller holds the broker's mutex.
func (s *memorySubscription) isCurrent(epoch int) bool { return s.ended == nil && s.epoch == epoch }

func (s *memorySubscription) isRevoked(epoch int) bool {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	return !s.isCurrent(epoch)
}

// acknowledge marks a message, unless the connection it was delivered on is
// no longer the current one.
func (s *memorySubscription) acknowledge(m *memoryMessage, epoch int) {
	b := s.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down || !s.isCurrent(epoch) {
		return
	}
	s.settle(m)
}

// settle removes an acknowledged message. The caller holds the broker's mutex.
func (s *memorySubscription) settle(m *memoryMessage) {
	b, q := s.broker, s.queue
	m.acknowledged = true
	full := len(q.messages) >= b.backlog
	q.trim()
	notify.Send(s.wake)
	if full {
		b.wakeWritersLocked()
	}
}

// Health implements Subscription.
func (s *memorySubscription) Health() error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	switch {
	case s.ended != nil:
		return s.ended
	case s.broker.down:
		return fmt.Errorf("subscription of topic %q: %w: %w", s.name.topic, ErrBrokerUnavailable, errMemoryDown)
	}
	return nil
}

// Pause implements Subscription. What has not been handed out stays in the
// broker.
func (s *memorySubscription) Pause(context.Context) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.paused = true
	notify.Send(s.wake)
	return nil
}

// Close implements Subscription.
func (s *memorySubscription) Close(context.Context) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.end(ErrBrokerClosed)
	if !s.queue.durable {
		s.drop()
	}
	return nil
}

// Forget implements Subscription. A subscription that was taken over does not
// remove what is now another one's.
func (s *memorySubscription) Forget(context.Context) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.end(ErrBrokerClosed)
	if s.queue.reader == nil {
		s.drop()
	}
	return nil
}

// drop removes the durable state. The caller holds the broker's mutex.
func (s *memorySubscription) drop() {
	if s.broker.queues[s.name] == s.queue {
		delete(s.broker.queues, s.name)
		s.broker.wakeWritersLocked()
	}
}
