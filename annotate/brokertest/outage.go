package brokertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/annotate"
)

// outageChecks are the rules for a broker that is away.
func outageChecks() []Check {
	return []Check{
		{
			Name:       "broker away at the start",
			Rule:       "Subscribe and Connect return an error that wraps ErrBrokerUnavailable within the context's time when the broker is away.",
			Outage:     true,
			experiment: awayAtTheStart,
		},
		{
			Name: "health",
			Rule: "Health is an error that wraps ErrBrokerUnavailable while the broker is away, and nil again " +
				"afterwards, without a further call.",
			Outage:     true,
			experiment: health,
		},
		{
			Name: "unacknowledged messages come again after an outage",
			Rule: "what was not acknowledged when the connection was lost is delivered again, in order, and " +
				"acknowledgements of before do no harm.",
			Outage:     true,
			experiment: comesAgainAfterOutage,
		},
		{
			Name:       "output window",
			Rule:       "Publish accepts Window messages while the broker is away, then waits, and goes on after confirmations came.",
			Outage:     true,
			experiment: outputWindow,
		},
		{
			Name:       "close of a publisher without broker",
			Rule:       "Close returns an error when its context ends first, and confirms the rest with errors, each message once.",
			Outage:     true,
			experiment: closeWithoutBroker,
		},
		{
			Name:       "close of a subscription without broker",
			Rule:       "Close of a subscription whose broker is away returns soon.",
			Outage:     true,
			experiment: closeSubscriptionWithoutBroker,
		},
	}
}

func awayAtTheStart(r *rig) error {
	r.interrupt()
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	begin := time.Now()
	_, err := r.Broker.Subscribe(ctx, r.settings("reader"), annotate.ConnectOptions{})
	if !errors.Is(err, annotate.ErrBrokerUnavailable) {
		return fmt.Errorf("the Subscribe returned %w", errOrNil{err})
	}
	_, err = r.Broker.Connect(ctx, r.settings("writer"), annotate.ConnectOptions{})
	if !errors.Is(err, annotate.ErrBrokerUnavailable) {
		return fmt.Errorf("the Connect returned %w", errOrNil{err})
	}
	if took := time.Since(begin); took > patience+soon {
		return fmt.Errorf("it took %s", took)
	}
	return nil
}

func health(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	for range 2 {
		for _, health := range []func() error{s.Health, p.Health} {
			if err := r.becomes(health, true); err != nil {
				return err
			}
		}
		r.interrupt()
		for _, health := range []func() error{s.Health, p.Health} {
			if err := r.becomes(health, false); err != nil {
				return err
			}
			if err := health(); !errors.Is(err, annotate.ErrBrokerUnavailable) {
				return fmt.Errorf("the Health is %w", errOrNil{err})
			}
		}
		r.resume()
	}
	for _, health := range []func() error{s.Health, p.Health} {
		if err := r.becomes(health, true); err != nil {
			return err
		}
	}
	return nil
}

func comesAgainAfterOutage(r *rig) error {
	s, p, err := r.filled(0, 20)
	if err != nil {
		return err
	}
	before, err := r.receive(s, 0, 20)
	if err != nil {
		return err
	}
	r.interrupt()
	if err := r.becomes(s.Health, false); err != nil {
		return err
	}
	ack(before[:10]) // on the lost connection: dropped
	r.resume()
	if err := r.becomes(s.Health, true); err != nil {
		return err
	}
	again, err := r.receive(s, 0, 20)
	if err != nil {
		return err
	}
	ack(before[10:])
	ack(again)
	if err := p.publish(r.ctx, 10); err != nil {
		return err
	}
	if err := r.receiveAndAck(s, 20, 30); err != nil {
		return err
	}
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	if s, err = r.subscribe("reader", 0); err != nil {
		return err
	}
	if err := r.nothingComes(s); err != nil {
		return fmt.Errorf("after everything was acknowledged %w", err)
	}
	return nil
}

func outputWindow(r *rig) error {
	const window = 8
	p, err := r.connect(window)
	if err != nil {
		return err
	}
	r.interrupt()
	if err := r.becomes(p.Health, false); err != nil {
		return err
	}
	if err := p.publish(r.ctx, window); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, moment)
	defer cancel()
	if err := p.publishOne(ctx, number(window)); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the Publish into the full window returned %w", errOrNil{err})
	}
	if order, _ := p.confirmations(); len(order) > 0 {
		return fmt.Errorf("message %d was confirmed while the broker was away", order[0])
	}
	r.resume()
	if err := p.publish(r.ctx, 3*window); err != nil {
		return err
	}
	return p.await(r.ctx, 4*window)
}

func closeWithoutBroker(r *rig) error {
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	r.interrupt()
	if err := r.becomes(p.Health, false); err != nil {
		return err
	}
	if err := p.publish(r.ctx, 5); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, moment)
	defer cancel()
	if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the Close returned %w", errOrNil{err})
	}
	order, errs := p.confirmations()
	if len(order) != 5 {
		return fmt.Errorf("%d of 5 messages were confirmed", len(order))
	}
	for i := range order {
		if order[i] != i {
			return fmt.Errorf("confirmation %d was for message %d", i, order[i])
		}
		if !errors.Is(errs[i], annotate.ErrBrokerClosed) {
			return fmt.Errorf("message %d was confirmed with %w", i, errOrNil{errs[i]})
		}
	}
	return nil
}

func closeSubscriptionWithoutBroker(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	r.interrupt()
	if err := r.becomes(s.Health, false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, soon)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		return fmt.Errorf("the Close returned %w", err)
	}
	return nil
}
