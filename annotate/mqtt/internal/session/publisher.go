package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// batch is the size of a write of several packets, in bytes.
const batch = 64 << 10

// Publisher implements annotate.Publisher. The link's goroutine sends all messages and calls
// all confirmations, so that both keep their order.
type Publisher struct {
	*link
	topic string
	slots chan struct{} // one element for each unconfirmed message
	wake  chan struct{} // wakes serve

	closing  chan struct{} // closed when Close begins
	closed   sync.Once
	closeErr error

	buffer     []byte // used by serve
	properties bool   // whether PUBLISH packets have them

	mu       sync.Mutex
	ended    bool
	current  *Connection
	messages []*publication // unconfirmed, in order
	sent     int            // number of messages sent on the current connection
	inFlight int            // sent and not answered, on the current connection
	byID     map[uint16]*publication
	lastID   uint16
	suspicion
}

// publication is an unconfirmed message.
type publication struct {
	annotate.Message
	confirmed func(error)
	id        uint16
	tried     bool // it was sent before, on this connection or an earlier one
	answered  bool // the outcome is known; confirmed is called in order
	err       error
	strikes   int       // how often the broker closed the connection after it
	struck    time.Time // when it first did so
}

func newPublisher(k Client, topic string, window int) *Publisher {
	p := &Publisher{
		topic:   topic,
		slots:   make(chan struct{}, window),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		byID:    map[uint16]*publication{},
	}
	p.link = newLink(k, p)
	p.link.window = 1 // a publisher receives no messages
	p.properties = k.Version.HasProperties()
	return p
}

// Publish implements annotate.Publisher. A message without a topic is published on the topic
// of the connection.
func (p *Publisher) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
	if m.Topic == "" {
		m.Topic = p.topic
	} else if err := checkTopicName(m.Topic); err != nil && m.Topic != p.topic {
		return fmt.Errorf("publish on topic %q: %w", m.Topic, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.closing:
		return annotate.ErrBrokerClosed
	default:
	}
	select {
	case p.slots <- struct{}{}:
	case <-p.closing:
		return annotate.ErrBrokerClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return annotate.ErrBrokerClosed
	}
	p.messages = append(p.messages, &publication{Message: m, confirmed: confirmed})
	notify.Send(p.wake)
	return nil
}

// attach implements traffic. On a new connection all unconfirmed messages are sent again.
func (p *Publisher) attach(c *Connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = c
	p.sent = 0
	p.inFlight = 0
	clear(p.byID)
}

// ready implements traffic.
func (p *Publisher) ready(context.Context, *Connection) error { return nil }

// received implements traffic. A publisher has no subscription.
func (p *Publisher) received(c *Connection, _ *inbound) {
	c.Breach("a message without a subscription")
}

// confirmed implements traffic.
func (p *Publisher) confirmed(c *Connection, id uint16, refused error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.byID[id]
	if m == nil || p.current != c {
		return
	}
	delete(p.byID, id)
	p.inFlight--
	p.careful = max(0, p.careful-1)
	m.answered = true
	if refused != nil {
		m.err = fmt.Errorf("the broker refused it: %w", refused)
	}
	notify.Send(p.wake)
}

// serve implements traffic.
func (p *Publisher) serve(c *Connection) {
	for {
		p.confirm()
		more, err := p.send(c)
		if err != nil {
			_ = c.Wire.Close() // the reader notices, and the connection is lost
		}
		if more && err == nil {
			continue
		}
		select {
		case <-p.wake:
		case <-c.lost:
			p.suspect(c)
			p.confirm()
			return
		case <-p.needed.Done():
			return
		}
	}
}

// confirm calls the confirmations of the oldest messages, up to one without an outcome.
func (p *Publisher) confirm() {
	p.mu.Lock()
	n := 0
	for n < len(p.messages) && p.messages[n].answered {
		n++
	}
	turn := p.messages[:n:n]
	p.messages = p.messages[n:]
	p.sent = max(0, p.sent-n)
	p.mu.Unlock()
	for _, m := range turn {
		m.settle(m.err)
		<-p.slots
	}
}

// settle calls the confirmation.
func (m *publication) settle(err error) {
	if err != nil {
		err = fmt.Errorf("publish on topic %q: %w", m.Topic, err)
	}
	m.confirmed(err)
}

// send writes one batch of waiting messages, within the broker's Receive Maximum, and
// reports whether there may be more to send.
func (p *Publisher) send(c *Connection) (more bool, err error) {
	buffer := p.buffer[:0]
	p.mu.Lock()
	for p.sent < len(p.messages) && p.inFlight < p.allowed(c) && len(buffer) < batch {
		m := p.messages[p.sent]
		p.sent++
		more = true
		if m.answered {
			continue // answered on an earlier connection
		}
		size := packetSize(&m.Message, p.properties)
		if size > c.terms.MaxPacketSize && m.Trace.Parent != "" {
			m.Trace = annotate.Trace{} // it never makes a message fail
			size = packetSize(&m.Message, p.properties)
		}
		if size > c.terms.MaxPacketSize {
			m.answered = true
			m.err = fmt.Errorf("its packet has %d bytes, the broker takes at most %d", size, c.terms.MaxPacketSize)
			continue
		}
		m.id = p.freeID()
		p.byID[m.id] = m
		p.inFlight++
		buffer = appendPublish(buffer, &m.Message, m.id, m.tried, p.properties)
		m.tried = true
	}
	p.mu.Unlock()
	if len(buffer) > 0 {
		err = c.Wire.Send(buffer)
	}
	p.buffer = buffer
	if cap(buffer) > 16*batch {
		p.buffer = nil // release the memory of a large message
	}
	return more, err
}

// freeID returns a packet identifier that is not in use. There always is one: the window is
// not larger than the number of identifiers.
func (p *Publisher) freeID() uint16 {
	for {
		p.lastID++
		if p.lastID != 0 && p.byID[p.lastID] == nil {
			return p.lastID
		}
	}
}

// Close implements annotate.Publisher.
func (p *Publisher) Close(ctx context.Context) error {
	first := false
	p.closed.Do(func() {
		first = true
		close(p.closing)
		p.closeErr = p.drain(ctx)
		if p.closeErr != nil {
			p.abort()
		}
		err := p.link.close(ctx)
		p.giveUp()
		if p.closeErr == nil && err != nil {
			p.closeErr = fmt.Errorf("close connection to topic %q: %w", p.topic, err)
		}
	})
	if !first {
		return nil
	}
	return p.closeErr
}

// drain waits until every slot of the window is free. It takes all slots, and so waits for a
// Publish that has a slot already as well.
func (p *Publisher) drain(ctx context.Context) error {
	for i := range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("close connection to topic %q: %d messages unconfirmed: %w", p.topic, cap(p.slots)-i, ctx.Err())
		}
	}
	return nil
}

// giveUp confirms the remaining messages with an error, after the link's goroutine has ended.
func (p *Publisher) giveUp() {
	p.confirm() // those with an outcome come first
	p.mu.Lock()
	left := p.messages
	p.messages, p.ended = nil, true
	p.mu.Unlock()
	for _, m := range left {
		if m.answered {
			m.settle(m.err)
		} else {
			m.settle(fmt.Errorf("%w before the broker confirmed", annotate.ErrBrokerClosed))
		}
		<-p.slots
	}
}
