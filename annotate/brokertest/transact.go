package brokertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
)

// transactChecks are the rules of annotate.Transactor.
func transactChecks() []Check {
	checks := []Check{
		{
			Name:       "outputs and inputs are committed together",
			Rule:       "an input whose output was confirmed is not delivered again, also when Ack was never called; one without an output is.",
			experiment: committedTogether,
		},
		{
			Name:       "input without output",
			Rule:       "Ack of an input that has no output keeps it from being delivered again.",
			experiment: inputWithoutOutput,
		},
		{
			Name:       "transactions with interruptions",
			Rule:       "when the broker is lost in the middle, again and again, every output is read exactly once and in order.",
			Outage:     true,
			experiment: exactlyOnce,
		},
	}
	for i := range checks {
		checks[i].Transactions = true
	}
	return checks
}

// ends are the two ends of a transactional channel, and a reader of
// what it publishes.
type ends struct {
	annotate.Subscription
	annotate.Publisher
	output string
	reader annotate.Subscription
}

func (e *ends) close(ctx context.Context) error {
	return errors.Join(e.Publisher.Close(ctx), e.Subscription.Close(ctx))
}

// transact connects, and puts n numbers into the input.
func (r *rig) transact(n int) (*ends, error) {
	e := &ends{output: r.outputSettings("").Name}
	var err error
	e.reader, err = r.Broker.Subscribe(r.ctx, r.outputSettings("reader"), annotate.ConnectOptions{})
	if err != nil {
		return nil, fmt.Errorf("the Subscribe to the output failed: %w", err)
	}
	r.subscriptions = append(r.subscriptions, e.reader)
	if err := r.reopen(e); err != nil {
		return nil, err
	}
	p, err := r.connect(0)
	if err != nil {
		return nil, err
	}
	if err := p.publish(r.ctx, n); err != nil {
		return nil, err
	}
	return e, p.await(r.ctx, n)
}

func (r *rig) outputSettings(client string) annotate.Topic {
	settings := r.settings("output-" + client)
	settings.Name = r.Topic(r.topic+"/out", client).Name
	return settings
}

// reopen opens the transactional connections.
func (r *rig) reopen(e *ends) error {
	var err error
	e.Subscription, e.Publisher, err = r.Broker.(annotate.Transactor).
		Transact(r.ctx, r.settings("channel"), r.outputSettings("channel"), annotate.ConnectOptions{Window: 64})
	if err != nil {
		return fmt.Errorf("the Transact failed: %w", err)
	}
	r.subscriptions = append(r.subscriptions, e.Subscription)
	r.publishers = append(r.publishers, &recorder{Publisher: e.Publisher})
	return nil
}

// answer publishes the output of a delivery, which is the same number.
func (e *ends) answer(ctx context.Context, d annotate.Delivery, confirmed func(error)) error {
	m := annotate.Message{Topic: e.output, Key: d.Key, Payload: d.Payload, Origin: d.Origin}
	if err := e.Publish(ctx, m, confirmed); err != nil {
		return fmt.Errorf("the Publish of the output of message %d failed: %w", parseNumber(d.Payload), err)
	}
	return nil
}

// read demands the numbers from up to, not including, end from the output.
func (r *rig) read(e *ends, from, end int) error {
	for n := from; n < end; n++ {
		d, err := e.reader.Receive(r.ctx)
		if err != nil {
			return fmt.Errorf("the output of message %d was not read: %w", n, err)
		}
		if have := parseNumber(d.Payload); have != n {
			return fmt.Errorf("the output of message %d was read where that of %d was expected", have, n)
		}
		d.Ack()
	}
	return nil
}

func committedTogether(r *rig) error {
	e, err := r.transact(20)
	if err != nil {
		return err
	}
	got, err := r.receive(e.Subscription, 0, 20)
	if err != nil {
		return err
	}
	confirmations := make(chan error, 12)
	for _, d := range got[:12] {
		if err := e.answer(r.ctx, d, func(err error) { confirmations <- err }); err != nil {
			return err
		}
	}
	if err := e.close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	for n := range 12 {
		if err := <-confirmations; err != nil {
			return fmt.Errorf("the output of message %d was confirmed with the error %w", n, err)
		}
	}
	if err := r.reopen(e); err != nil {
		return err
	}
	if _, err := r.receive(e.Subscription, 12, 20); err != nil {
		return err
	}
	if err := r.read(e, 0, 12); err != nil {
		return err
	}
	return r.nothingComes(e.reader)
}

func inputWithoutOutput(r *rig) error {
	e, err := r.transact(10)
	if err != nil {
		return err
	}
	got, err := r.receive(e.Subscription, 0, 10)
	if err != nil {
		return err
	}
	ack(got[:6])
	if err := e.close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	if err := r.reopen(e); err != nil {
		return err
	}
	if _, err := r.receive(e.Subscription, 6, 10); err != nil {
		return err
	}
	return r.nothingComes(e.reader)
}

// exactlyOnce answers every message while the broker comes and goes. What is
// taken back is received again, so that it goes on until all is read.
func exactlyOnce(r *rig) error {
	n := r.Messages / 4
	e, err := r.transact(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	failed := make(chan error, 1)
	go func() { failed <- r.answerAll(ctx, e) }()
	for part := range 4 {
		if err = r.read(e, part*n/4, (part+1)*n/4); err != nil {
			break
		}
		if part < 3 {
			if err = r.interruptEnds(e); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = r.nothingComes(e.reader)
	}
	cancel()
	return errors.Join(err, <-failed)
}

// interruptEnds interrupts the channel. The reader is away meanwhile: what it
// had not acknowledged would come to it again, and look like a second output.
func (r *rig) interruptEnds(e *ends) error {
	if err := e.reader.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close of the reader failed: %w", err)
	}
	r.interrupt()
	if err := r.becomes(e.Subscription.Health, false); err != nil {
		return err
	}
	r.resume()
	reader, err := r.Broker.Subscribe(r.ctx, r.outputSettings("reader"), annotate.ConnectOptions{})
	if err != nil {
		return fmt.Errorf("the Subscribe to the output failed: %w", err)
	}
	r.subscriptions = append(r.subscriptions, reader)
	e.reader = reader
	return nil
}

// answerAll answers whatever comes until ctx ends.
func (r *rig) answerAll(ctx context.Context, e *ends) error {
	refused := make(chan error, 1)
	for {
		d, err := e.Receive(ctx)
		if err != nil {
			return unlessEnded(ctx, fmt.Errorf("the Receive failed: %w", err))
		}
		if d.Revoked != nil && d.Revoked() {
			continue
		}
		err = e.answer(ctx, d, func(err error) {
			if err != nil && !errors.Is(err, annotate.ErrRevoked) && ctx.Err() == nil {
				select {
				case refused <- fmt.Errorf("message %d was confirmed with the error %w", parseNumber(d.Payload), err):
				default:
				}
			}
		})
		if err != nil && !errors.Is(err, annotate.ErrRevoked) {
			return unlessEnded(ctx, err)
		}
		select {
		case err := <-refused:
			return err
		default:
		}
	}
}

func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
