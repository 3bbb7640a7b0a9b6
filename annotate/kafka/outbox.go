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

// outbox is the window of a publisher: the accepted messages that are not confirmed, in
// order. One goroutine takes messages from it and confirms them.
type outbox struct {
	name    string        // of the topic
	largest int           // size of a batch of messages, in bytes
	slots   chan struct{} // one element for each unconfirmed message
	wake    chan struct{} // wakes the goroutine
	closing chan struct{} // closed when Close begins
	once    sync.Once

	mu       sync.Mutex
	over     bool
	messages []*publication // unconfirmed, in order
	taken    int            // number of messages that the producer has
}

// publication is an unconfirmed message. The message points back to it.
type publication struct {
	sarama.ProducerMessage
	key, value octets
	origin     *inbound // with transactions
	confirmed  func(error)
	answered   bool // the outcome is known; confirmed is called in order
	err        error
}

// octets is a key or payload as a sarama.Encoder.
type octets []byte

// Encode implements sarama.Encoder.
func (o *octets) Encode() ([]byte, error) { return *o, nil }

// Length implements sarama.Encoder.
func (o *octets) Length() int { return len(*o) }

// batchHeader is the size of what comes before the messages of a batch, in bytes.
const batchHeader = 61

func newOutbox(topic string, window, largest int) *outbox {
	return &outbox{
		name:    topic,
		largest: largest,
		slots:   make(chan struct{}, window),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
	}
}

// Publish implements annotate.Publisher. A message without a topic is published on the topic
// of the connection.
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
	p.Topic = o.name
	p.Value = &p.value
	p.Metadata = p
	if m.Key != nil {
		p.Key = &p.key
	}
	if m.Trace.Parent != "" {
		p.Headers = traceHeaders(m.Trace)
		if batchHeader+p.ByteSize(2) > o.largest { // a trace never makes a message fail
			p.Headers = nil
		}
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

// take returns the next messages to send, at most limit, in the memory of into. It skips
// messages that an earlier producer has sent while an older one is still to be sent.
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

// putBack returns a message and those after it to the messages that take returns.
func (o *outbox) putBack(first *publication) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = slices.Index(o.messages[:o.taken], first)
}

// rewind makes take begin again with the oldest message without an outcome.
func (o *outbox) rewind() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
}

// underWay returns the number of messages that the producer has, without an outcome.
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

// settle records the outcome of a message.
func (o *outbox) settle(p *publication, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !p.answered {
		p.answered, p.err = true, err
	}
}

// confirm calls the confirmations of the oldest messages, up to one without an outcome.
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

// conclude calls a confirmation and frees a slot of the window.
func (o *outbox) conclude(p *publication, err error) {
	if err != nil {
		err = fmt.Errorf("publish on topic %q: %w", o.name, err)
	}
	p.confirmed(err)
	<-o.slots
}

// drain waits until all accepted messages are confirmed. It takes all slots, and so waits
// for a Publish that has a slot already as well.
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

// giveUp confirms the remaining messages with an error, after the goroutine has ended.
func (o *outbox) giveUp(why error) {
	o.confirm() // those with an outcome come first
	o.mu.Lock()
	left := o.messages
	o.messages = nil
	o.taken = 0
	o.over = true
	o.mu.Unlock()
	for _, p := range left {
		if p.answered {
			o.conclude(p, p.err)
		} else {
			o.conclude(p, why)
		}
	}
}

// close ends the outbox, once. It waits for the confirmations until ctx ends, then calls
// stop, which ends the goroutine.
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
