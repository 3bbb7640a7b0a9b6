package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/IBM/sarama"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
)

// outbox is the window of a publisher: what was accepted and is not confirmed,
// in order. One goroutine takes messages out of it and confirms them.
type outbox struct {
	name    string        // of the topic
	slots   chan struct{} // one element for each unconfirmed message
	wake    chan struct{} // something changed for the goroutine to look at
	closing chan struct{} // closed when Close begins
	once    sync.Once

	mu       sync.Mutex
	over     bool
	messages []*publication // unconfirmed, in order
	taken    int            // of messages, how many were handed to the producer
}

// publication is an unconfirmed message. The message points back to it.
type publication struct {
	sarama.ProducerMessage
	key, value octets
	origin     *inbound // with transactions
	confirmed  func(error)
	answered   bool // confirmed can be called, in its turn
	err        error
}

// octets is a key or payload in the shape that sarama asks for.
type octets []byte

// Encode implements sarama.Encoder.
func (o *octets) Encode() ([]byte, error) { return *o, nil }

// Length implements sarama.Encoder.
func (o *octets) Length() int { return len(*o) }

func newOutbox(topic string, window int) *outbox {
	return &outbox{
		name:    topic,
		slots:   make(chan struct{}, window),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
	}
}

// Publish implements annotate.Publisher. A message without a topic goes to the
// topic of the connection.
func (o *outbox) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
	if m.Topic != "" && m.Topic != o.name {
		return fmt.Errorf("publish on topic %q: the connection is to topic %q", m.Topic, o.name)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-o.closing:
		return annotate.ErrBrokerClosed
	default:
	}
	select {
	case o.slots <- struct{}{}:
	case <-o.closing:
		return annotate.ErrBrokerClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	p := &publication{key: m.Key, value: m.Payload, confirmed: confirmed}
	p.origin, _ = m.Origin.(*inbound)
	if p.value == nil {
		p.value = octets{} // a record without a value means that its key is deleted
	}
	p.Topic, p.Value, p.Metadata = o.name, &p.value, p
	if m.Key != nil {
		p.Key = &p.key
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return annotate.ErrBrokerClosed
	}
	o.messages = append(o.messages, p)
	notify.Send(o.wake)
	return nil
}

// take returns the next messages to send, at most limit, in the memory of
// into. It leaves out those that were answered by an earlier producer, while
// one before them was not.
func (o *outbox) take(into []*publication, limit int) []*publication {
	o.mu.Lock()
	defer o.mu.Unlock()
	into = into[:0]
	for ; o.taken < len(o.messages) && len(into) < limit; o.taken++ {
		if m := o.messages[o.taken]; !m.answered {
			into = append(into, m)
		}
	}
	return into
}

// putBack makes a message that was taken, and those after it, be taken again.
func (o *outbox) putBack(first *publication) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = slices.Index(o.messages[:o.taken], first)
}

// rewind makes everything that is not answered be taken again.
func (o *outbox) rewind() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
}

// underWay is the number of messages that were taken and are not answered.
func (o *outbox) underWay() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, m := range o.messages[:o.taken] {
		if !m.answered {
			n++
		}
	}
	return n
}

// settle notes what became of a message.
func (o *outbox) settle(p *publication, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !p.answered {
		p.answered, p.err = true, err
	}
}

// confirm calls the confirmations whose turn it is.
func (o *outbox) confirm() {
	o.mu.Lock()
	n := 0
	for n < len(o.messages) && o.messages[n].answered {
		n++
	}
	if n == 0 {
		o.mu.Unlock()
		return
	}
	turn := o.messages[:n:n]
	o.messages = o.messages[n:]
	o.taken = max(0, o.taken-n)
	o.mu.Unlock()
	for i, p := range turn {
		o.conclude(p, p.err)
		turn[i] = nil
	}
}

// conclude calls one confirmation and makes room in the window.
func (o *outbox) conclude(p *publication, err error) {
	if err != nil {
		err = fmt.Errorf("publish on topic %q: %w", o.name, err)
	}
	p.confirmed(err)
	<-o.slots
}

// drain waits until everything accepted is confirmed. It fills the slots
// itself, so that a Publish which had already won one is waited for as well.
func (o *outbox) drain(ctx context.Context) error {
	for i := range cap(o.slots) {
		select {
		case o.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("close connection to topic %q: %d messages unconfirmed: %w", o.name, cap(o.slots)-i, ctx.Err())
		}
	}
	return nil
}

// giveUp confirms what is left, when the goroutine has ended.
func (o *outbox) giveUp(why error) {
	o.confirm() // what was answered and had not had its turn
	o.mu.Lock()
	left := o.messages
	o.messages, o.taken, o.over = nil, 0, true
	o.mu.Unlock()
	for _, p := range left {
		if p.answered {
			o.conclude(p, p.err)
		} else {
			o.conclude(p, why)
		}
	}
}

// close ends the outbox, once: it waits for the confirmations as long as ctx
// allows and then has stop end the goroutine.
func (o *outbox) close(ctx context.Context, why error, stop func()) (err error) {
	o.once.Do(func() {
		close(o.closing)
		notify.Send(o.wake)
		err = o.drain(ctx)
		stop()
		o.giveUp(why)
	})
	return err
}

// isClosed reports whether Close was called.
func (o *outbox) isClosed() bool {
	select {
	case <-o.closing:
		return true
	default:
		return false
	}
}
