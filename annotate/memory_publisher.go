package annotate

import (
	"context"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/internal/notify"
)

// memoryPublisher is one publishing connection to a MemoryBroker. Its
// goroutine moves messages into the broker and calls the confirmations, so
// that these never run inside Publish.
type memoryPublisher struct {
	broker *MemoryBroker
	topic  string
	input  *memorySubscription // acknowledged along with each message; nil outside Transact
	slots  chan struct{}       // one element for each unconfirmed message
	wake   chan struct{}       // something changed for run to look at
	abort  chan struct{}       // closed when unconfirmed messages are given up
	done   chan struct{}       // closed when run has returned

	closing  chan struct{} // closed when Close begins
	closed   sync.Once
	closeErr error

	// The broker's mutex protects these.
	messages []memoryPublication
	sent     int // of messages, how many the broker has taken
	finished bool
}

// memoryPublication is an unconfirmed message.
type memoryPublication struct {
	message   Message
	confirmed func(error)
	refused   error // why the broker did not take it; nil when it did
}

func newMemoryPublisher(b *MemoryBroker, topic string, window int) *memoryPublisher {
	return &memoryPublisher{
		broker:  b,
		topic:   topic,
		slots:   make(chan struct{}, window),
		wake:    make(chan struct{}, 1),
		abort:   make(chan struct{}),
		done:    make(chan struct{}),
		closing: make(chan struct{}),
	}
}

// Publish implements Publisher. A message without a topic goes to the topic
// of the connection.
func (p *memoryPublisher) Publish(ctx context.Context, m Message, confirmed func(error)) error {
	if m.Topic == "" {
		m.Topic = p.topic
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.closing:
		return ErrBrokerClosed
	default:
	}
	select {
	case p.slots <- struct{}{}:
	case <-p.closing:
		return ErrBrokerClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	if p.finished {
		return ErrBrokerClosed
	}
	p.messages = append(p.messages, memoryPublication{message: m, confirmed: confirmed})
	notify.Send(p.wake)
	return nil
}

// run gives messages to the broker and confirms them until Close.
func (p *memoryPublisher) run() {
	defer close(p.done)
	for {
		for _, m := range p.advance() {
			m.confirmed(m.refused)
			<-p.slots
		}
		select {
		case <-p.wake:
		case <-p.abort:
			p.giveUp()
			return
		}
	}
}

// advance stores what the broker accepts and returns what is confirmed now.
func (p *memoryPublisher) advance() []memoryPublication {
	b := p.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down && p.input == nil {
		return nil
	}
	for p.sent < len(p.messages) && p.offer(&p.messages[p.sent]) {
		p.sent++
	}
	if b.held && p.input == nil {
		return nil
	}
	confirmed := p.messages[:p.sent:p.sent]
	p.messages = append([]memoryPublication(nil), p.messages[p.sent:]...)
	p.sent = 0
	return confirmed
}

// offer gives one message to the broker. It reports false when the broker has
// no room now. The caller holds the broker's mutex.
func (p *memoryPublisher) offer(m *memoryPublication) bool {
	b := p.broker
	m.refused = nil
	origin, _ := m.message.Origin.(memoryOrigin)
	if p.input != nil && !p.input.isCurrent(origin.epoch) {
		m.refused = fmt.Errorf("publish on topic %q: %w", m.message.Topic, ErrRevoked)
		return true
	}
	switch {
	case p.input != nil && b.held: // a transaction is not taken before it is confirmed
		return false
	case b.failure != nil:
		m.refused = fmt.Errorf("publish on topic %q: %w", m.message.Topic, b.failure)
	case !b.storeLocked(m.message):
		return false
	case p.input != nil:
		p.input.settle(origin.message)
	}
	return true
}

// giveUp confirms what is left with an error.
func (p *memoryPublisher) giveUp() {
	b := p.broker
	b.mu.Lock()
	left := p.messages
	p.messages = nil
	p.sent = 0
	p.finished = true
	delete(b.publishers, p)
	b.mu.Unlock()
	for _, m := range left {
		m.confirmed(fmt.Errorf("publish on topic %q: %w before the broker confirmed", m.message.Topic, ErrBrokerClosed))
		<-p.slots
	}
}

// Health implements Publisher.
func (p *memoryPublisher) Health() error {
	select {
	case <-p.closing:
		return ErrBrokerClosed
	default:
	}
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	if p.broker.down {
		return fmt.Errorf("connection to topic %q: %w: %w", p.topic, ErrBrokerUnavailable, errMemoryDown)
	}
	return nil
}

// Close implements Publisher.
func (p *memoryPublisher) Close(ctx context.Context) error {
	first := false
	p.closed.Do(func() {
		first = true
		close(p.closing)
		p.closeErr = p.drain(ctx)
		close(p.abort)
		<-p.done
	})
	if !first {
		return nil
	}
	return p.closeErr
}

// drain waits until every slot of the window is free. It fills them itself, so
// that a Publish which had already won one is waited for as well.
func (p *memoryPublisher) drain(ctx context.Context) error {
	for i := range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("close connection to topic %q: %d messages unconfirmed: %w", p.topic, cap(p.slots)-i, ctx.Err())
		}
	}
	return nil
}
