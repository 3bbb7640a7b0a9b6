package mqtt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/eclipse/paho.golang/packets"

	"github.com/iotenablers/enablers/annotate"
)

// batch is how many bytes of packets are gathered for one write.
const batch = 64 << 10

// publisher implements annotate.Publisher. The link's goroutine does all the
// sending and calls all the confirmations, so that both keep their order.
type publisher struct {
	*link
	topic string
	slots chan struct{} // one element for each unconfirmed message
	wake  chan struct{} // something changed for serve to look at

	closing  chan struct{} // closed when Close begins
	closed   sync.Once
	closeErr error

	buffer bytes.Buffer       // serve's own
	plain  packets.Properties // what every PUBLISH packet carries; never changed

	mu       sync.Mutex
	ended    bool
	current  *connection
	messages []*publication // unconfirmed, in order
	sent     int            // of messages, how many went out on the current connection
	inFlight int            // sent and not answered, on the current connection
	byID     map[uint16]*publication
	lastID   uint16
}

// publication is an unconfirmed message.
type publication struct {
	annotate.Message
	confirmed func(error)
	id        uint16
	answered  bool // confirmed can be called, in its turn
	err       error
}

func newPublisher(b *Broker, topic string, window int) *publisher {
	p := &publisher{
		topic:   topic,
		slots:   make(chan struct{}, window),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		byID:    map[uint16]*publication{},
	}
	p.link = newLink(b, p)
	p.link.window = 1 // nothing comes in
	return p
}

// Publish implements annotate.Publisher. A message without a topic goes to
// the topic of the connection.
func (p *publisher) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
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
	signal(p.wake)
	return nil
}

// attach implements traffic: on a new connection everything that is not
// confirmed has to be sent, again or for the first time. The connection was
// made with a clean start, so nothing in it is a duplicate in the sense of the
// DUP flag.
func (p *publisher) attach(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.sent, p.inFlight = c, 0, 0
	clear(p.byID)
}

// ready implements traffic.
func (p *publisher) ready(context.Context, *connection) error { return nil }

// received implements traffic. Nothing is subscribed to.
func (p *publisher) received(c *connection, _ *packets.Publish) {
	c.breach("a message that was not subscribed to")
}

// confirmed implements traffic.
func (p *publisher) confirmed(c *connection, answer *packets.Puback) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.byID[answer.PacketID]
	if m == nil || p.current != c {
		return
	}
	delete(p.byID, answer.PacketID)
	p.inFlight--
	m.answered = true
	if answer.ReasonCode >= 0x80 {
		words := ""
		if answer.Properties != nil {
			words = answer.Properties.ReasonString
		}
		m.err = errors.New("the broker refused it: " + reason(answer.ReasonCode, words))
	}
	signal(p.wake)
}

// serve implements traffic.
func (p *publisher) serve(c *connection) {
	for {
		p.confirm()
		more, err := p.send(c)
		if err != nil {
			_ = c.wire.Close() // paho's reader notices, and the connection is lost
		}
		if more && err == nil {
			continue
		}
		select {
		case <-p.wake:
		case <-c.lost:
			p.confirm()
			return
		case <-p.needed.Done():
			return
		}
	}
}

// confirm calls the confirmations whose turn it is.
func (p *publisher) confirm() {
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

// send writes one batch of the messages that wait, as far as the broker's
// Receive Maximum allows, and reports whether there may be more to do.
func (p *publisher) send(c *connection) (more bool, err error) {
	p.buffer.Reset()
	p.mu.Lock()
	for p.sent < len(p.messages) && p.inFlight < c.receiveMaximum && p.buffer.Len() < batch {
		m := p.messages[p.sent]
		p.sent++
		more = true
		if m.answered {
			continue // answered on an earlier connection, while one before it was not
		}
		if size := m.packetSize(); size > c.maxPacket {
			m.answered = true
			m.err = fmt.Errorf("its packet has %d bytes, the broker takes at most %d", size, c.maxPacket)
			continue
		}
		m.id = p.freeID()
		p.byID[m.id] = m
		p.inFlight++
		packet := packets.Publish{Topic: m.Topic, Payload: m.Payload, PacketID: m.id, QoS: 1, Properties: &p.plain}
		_, _ = packet.WriteTo(&p.buffer) // a bytes.Buffer does not fail
	}
	p.mu.Unlock()
	if p.buffer.Len() > 0 {
		err = c.wire.send(p.buffer.Bytes())
	}
	if p.buffer.Cap() > 16*batch {
		p.buffer = bytes.Buffer{} // a large message does not keep its memory for ever
	}
	return more, err
}

// packetSize is the size of the PUBLISH packet in bytes (MQTT 5 section 3.3).
func (m *publication) packetSize() int {
	rest := 2 + len(m.Topic) + 2 + 1 + len(m.Payload)
	size := 1 + rest
	for ; rest > 0; rest >>= 7 {
		size++
	}
	return size
}

// freeID returns a packet identifier that is not in use. There always is one:
// the window is smaller than the number of identifiers, or equal.
func (p *publisher) freeID() uint16 {
	for {
		p.lastID++
		if p.lastID != 0 && p.byID[p.lastID] == nil {
			return p.lastID
		}
	}
}

// Close implements annotate.Publisher.
func (p *publisher) Close(ctx context.Context) error {
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

// drain waits until every slot of the window is free. It fills them itself,
// so that a Publish which had already won one is waited for as well.
func (p *publisher) drain(ctx context.Context) error {
	for i := range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("close connection to topic %q: %d messages unconfirmed: %w", p.topic, cap(p.slots)-i, ctx.Err())
		}
	}
	return nil
}

// giveUp confirms what is left, when the link's goroutine has ended.
func (p *publisher) giveUp() {
	p.confirm() // what was answered and had not had its turn
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

// signal leaves a note on a channel of capacity one, unless one is there.
func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
