// Package sink publishes messages to services that answer requests, such as stores. It has
// the window, the batches, the order and the repetitions, and leaves the requests to a
// [Writer].
package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/internal/retry"
)

// Writer sends the requests. One goroutine calls it at a time.
type Writer interface {
	// Write writes messages in their order. The outcomes are those of the first messages, as
	// many as there are: nil for one that the service has confirmed, otherwise why it never
	// will. The error is why the others are to be written again; it is nil if there are none.
	// A message that was written before is replaced.
	Write(ctx context.Context, messages []annotate.Message) (outcomes []error, err error)
}

// Config says how a publisher writes.
type Config struct {
	// Topic is the topic of the messages; required.
	Topic string
	// Window is the largest number of messages that are accepted and not confirmed; zero
	// means annotate.DefaultWindow.
	Window int
	// BatchMessages and BatchBytes bound what is handed to one call of Write. One message
	// always fits.
	BatchMessages, BatchBytes int
	// RetryMin and RetryMax are the shortest and the longest pause before messages are
	// written again.
	RetryMin, RetryMax time.Duration
	// Permit returns why nothing may be written at this moment; nil permits it.
	Permit func() error
}

// Publisher is an annotate.Publisher over a Writer. Create one with [Start].
type Publisher struct {
	config  Config
	writer  Writer
	slots   chan struct{} // one element for each unconfirmed message
	wake    chan struct{} // there are messages
	closing chan struct{} // closed when Close begins
	once    sync.Once
	ctx     context.Context // ends when nothing may be written any more
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu    sync.Mutex
	over  bool
	queue []publication // accepted and not confirmed, in order
	fault error         // of the last attempt
}

type publication struct {
	message   annotate.Message
	confirmed func(error)
}

var _ annotate.Publisher = (*Publisher)(nil)

// Start returns a publisher. It has a goroutine until Close.
func Start(writer Writer, config Config) *Publisher {
	if config.Window <= 0 {
		config.Window = annotate.DefaultWindow
	}
	p := &Publisher{
		config: config, writer: writer,
		slots: make(chan struct{}, config.Window), wake: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.work.Go(p.run)
	return p
}

// Publish implements annotate.Publisher. A message without a topic has that of the connection.
func (p *Publisher) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
	if m.Topic != "" && m.Topic != p.config.Topic {
		return fmt.Errorf("publish to %q: the connection is to %q", m.Topic, p.config.Topic)
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
	if p.over {
		return annotate.ErrBrokerClosed
	}
	p.queue = append(p.queue, publication{m, confirmed})
	notify.Send(p.wake)
	return nil
}

// run writes the messages, and writes again what failed, until Close.
func (p *Publisher) run() {
	pause, most := retry.Backoff{Least: p.config.RetryMin, Most: p.config.RetryMax}, p.config.BatchMessages
	for {
		batch := p.batch(most)
		if len(batch) == 0 {
			select {
			case <-p.wake:
				continue
			case <-p.ctx.Done():
				return
			}
		}
		outcomes, err := p.write(batch)
		switch {
		case len(outcomes) > 0:
			pause.Reset()
			most = min(2*most, p.config.BatchMessages)
		default: // a smaller batch may be answered in time, and leaves out what the service cannot take
			most = max(1, len(batch)/2)
		}
		p.setFault(err)
		p.confirm(outcomes)
		if err == nil {
			continue
		}
		if pause.Wait(p.ctx) != nil {
			return
		}
	}
}

// write hands a batch to the writer. A message that makes it panic is refused
// permanently.
func (p *Publisher) write(batch []annotate.Message) (outcomes []error, err error) {
	defer func() {
		cause := recover()
		switch {
		case cause == nil:
			return
		case len(batch) == 1:
			outcomes, err = []error{fmt.Errorf("it cannot be written: the driver failed: %v", cause)}, nil
		default:
			outcomes, err = nil, fmt.Errorf("the driver failed: %v", cause)
		}
	}()
	if p.config.Permit != nil {
		if err := p.config.Permit(); err != nil {
			return nil, fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, err)
		}
	}
	return p.writer.Write(p.ctx, batch)
}

// batch returns the oldest messages, within the bounds.
func (p *Publisher) batch(most int) []annotate.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var batch []annotate.Message
	size := 0
	for _, next := range p.queue {
		size += len(next.message.Payload)
		if len(batch) > 0 && (size > p.config.BatchBytes || len(batch) >= most) {
			break
		}
		batch = append(batch, next.message)
	}
	return batch
}

// confirm confirms the oldest messages.
func (p *Publisher) confirm(outcomes []error) {
	p.mu.Lock()
	turn := p.queue[:len(outcomes):len(outcomes)]
	p.queue = p.queue[len(outcomes):]
	p.mu.Unlock()
	for i, next := range turn {
		next.confirmed(outcomes[i])
		turn[i] = publication{}
		<-p.slots
	}
}

func (p *Publisher) setFault(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = err
}

// Health implements annotate.Publisher. It is the outcome of the last batch.
func (p *Publisher) Health() error {
	select {
	case <-p.closing:
		return annotate.ErrBrokerClosed
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// Close implements annotate.Publisher.
func (p *Publisher) Close(ctx context.Context) (err error) {
	p.once.Do(func() {
		close(p.closing)
		err = p.drain(ctx)
		p.cancel()
		p.work.Wait()
		p.mu.Lock()
		left := p.queue
		p.queue, p.over = nil, true
		p.mu.Unlock()
		for _, next := range left {
			next.confirmed(fmt.Errorf("%w before the message was confirmed", annotate.ErrBrokerClosed))
		}
	})
	return err
}

// drain waits until every accepted message is confirmed: it takes all slots.
func (p *Publisher) drain(ctx context.Context) error {
	for i := range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
			continue
		default:
		}
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("close connection to %q: %d messages unconfirmed", p.config.Topic, cap(p.slots)-i), ctx.Err())
		}
	}
	return nil
}
