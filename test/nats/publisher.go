package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/iotenablers/enablers/annotate"
)

// outgoing is a message that is not confirmed.
type outgoing struct {
	message   *nats.Msg
	confirmed func(error)
}

// publisher is an annotate.Publisher.
type publisher struct {
	topic  annotate.Topic
	id     string        // distinguishes the messages of this publisher
	places chan struct{} // one element for each message in the window
	wake   chan struct{} // capacity 1: there are messages, or it is over
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	sent    uint64
	pending []outgoing
	link    *link
	closing bool
}

func connect(ctx context.Context, topic annotate.Topic, window int) (*publisher, error) {
	l, err := dial(ctx, topic)
	if err != nil {
		return nil, err
	}
	p := &publisher{
		topic: topic, id: rand.Text(), link: l,
		places: make(chan struct{}, window), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.run()
	return p, nil
}

// Publish implements annotate.Publisher.
func (p *publisher) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.isClosing() {
		return annotate.ErrBrokerClosed
	}
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return annotate.ErrBrokerClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	message := nats.NewMsg(p.topic.Name)
	message.Data = m.Payload
	message.Header.Set(jetstream.MsgIDHeader, p.id+"-"+strconv.FormatUint(p.sent, 10))
	p.pending = append(p.pending, outgoing{message, confirmed})
	signal(p.wake)
	return nil
}

func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

func (p *publisher) isClosing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing
}

// run sends what is pending until the publisher is closed.
func (p *publisher) run() {
	defer close(p.done)
	for {
		p.mu.Lock()
		batch, l, closing := p.pending, p.link, p.closing
		p.mu.Unlock()
		if len(batch) == 0 && closing {
			return
		}
		if len(batch) > 0 && !l.isLost() {
			if err := p.send(l, batch); err != nil {
				l.conn.Close()
			}
			continue
		}
		if l.isLost() {
			next, err := redial(p.ctx, p.topic)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.link = next
			p.mu.Unlock()
			continue
		}
		select {
		case <-p.wake:
		case <-l.closed:
		case <-p.ctx.Done():
			return
		}
	}
}

// send publishes messages on one connection and confirms them in order. An error
// is about the connection: what is not confirmed is sent again on another.
func (p *publisher) send(l *link, batch []outgoing) error {
	futures := make([]jetstream.PubAckFuture, 0, len(batch))
	var failed error
	for _, m := range batch {
		f, err := l.stream.PublishMsgAsync(m.message)
		if failed = err; err != nil {
			break
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
			p.confirm(nil)
		case err := <-f.Err():
			var refused *jetstream.APIError
			if !errors.As(err, &refused) {
				return err
			}
			p.confirm(err)
		case <-l.closed:
			return errLost
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
	if errors.Is(failed, nats.ErrMaxPayload) {
		p.confirm(failed)
		return nil
	}
	return failed
}

// confirm confirms the oldest message.
func (p *publisher) confirm(err error) {
	p.mu.Lock()
	m := p.pending[0]
	p.pending = p.pending[1:]
	p.mu.Unlock()
	m.confirmed(err)
	<-p.places
}

// Health implements annotate.Publisher.
func (p *publisher) Health() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closing:
		return annotate.ErrBrokerClosed
	case p.link.isLost():
		return errLost
	}
	return nil
}

// Close implements annotate.Publisher.
func (p *publisher) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	signal(p.wake)
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	p.cancel()
	<-p.done
	p.mu.Lock()
	left, l := p.pending, p.link
	p.pending = nil
	p.mu.Unlock()
	l.conn.Close()
	for _, m := range left {
		m.confirmed(annotate.ErrBrokerClosed)
	}
	if len(left) > 0 {
		return fmt.Errorf("messages not confirmed: %d: %w", len(left), context.Cause(ctx))
	}
	return nil
}
