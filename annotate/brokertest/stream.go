package brokertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
)

// streamChecks are the rules at length: publisher and subscription at work at
// the same time.
func streamChecks() []Check {
	return []Check{
		{
			Name:       "long stream",
			Rule:       "a long stream arrives complete and in order while several windows of it are unacknowledged.",
			experiment: func(r *rig) error { return r.stream(nil) },
		},
		{
			Name:       "long stream with interruptions",
			Rule:       "a stream whose broker is lost in the middle, again and again, arrives complete and, duplicates aside, in order.",
			Outage:     true,
			experiment: interrupted,
		},
	}
}

func interrupted(r *rig) error {
	step := r.Messages / 4
	return r.stream(func(received int) error {
		if received == 0 || received%step != 0 {
			return nil
		}
		r.interrupt()
		for _, s := range r.subscriptions {
			if err := r.becomes(s.Health, false); err != nil {
				return err
			}
		}
		r.resume()
		return nil
	})
}

// stream publishes and receives at once. It acknowledges half a window at a
// time. disturb is called with each new count of messages received.
func (r *rig) stream(disturb func(received int) error) error {
	const window = 64
	s, err := r.subscribe("reader", window)
	if err != nil {
		return err
	}
	p, err := r.connect(window)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	published := make(chan error, 1)
	go func() {
		err := p.publish(ctx, r.Messages)
		if err == nil {
			err = p.await(ctx, r.Messages)
		}
		published <- err
	}()
	received := r.consume(s, window/2, disturb)
	if received != nil {
		cancel()
	}
	err = <-published
	cancel()
	if received != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(received, err)
}

// consume takes the whole stream in.
func (r *rig) consume(s annotate.Subscription, batch int, disturb func(int) error) error {
	var pending []annotate.Delivery
	next := 0
	for next < r.Messages {
		d, err := s.Receive(r.ctx)
		if err != nil {
			return fmt.Errorf("the Receive failed where message %d was expected: %w", next, err)
		}
		pending = append(pending, d)
		if len(pending) == batch {
			ack(pending)
			pending = pending[:0]
		}
		n := parseNumber(d.Payload)
		switch {
		case n == next:
			next++
		case disturb == nil || n < 0 || n > next:
			return fmt.Errorf("message %d came where %d was expected", n, next)
		default:
			continue // a duplicate, of an interruption
		}
		if disturb != nil && next < r.Messages {
			if err := disturb(next); err != nil {
				return err
			}
		}
	}
	ack(pending)
	return nil
}
