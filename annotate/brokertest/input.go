package brokertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
)

// inputChecks are the rules of annotate.Subscription.
func inputChecks() []Check {
	return []Check{
		{
			Name:       "order",
			Rule:       "messages arrive in the order in which they were published, each once while no connection is lost.",
			experiment: order,
		},
		{
			Name:       "unacknowledged messages come again",
			Rule:       "what a subscription did not acknowledge goes to the next one of the same name, in order, before anything newer.",
			experiment: comesAgain,
		},
		{
			Name:       "acknowledgements are remembered",
			Rule:       "a message that was acknowledged before Close is not delivered again.",
			experiment: acksAreRemembered,
		},
		{
			Name:       "messages wait for an absent subscriber",
			Rule:       "what is published while a named subscription is closed is delivered to the next one of that name.",
			experiment: messagesWait,
		},
		{
			Name:       "input window",
			Rule:       "at most Window messages are handed out and not acknowledged; the next comes when one is.",
			experiment: inputWindow,
		},
		{
			Name: "pause",
			Rule: "after Pause Receive soon returns ErrBrokerClosed, what was handed out can be acknowledged, and " +
				"the rest is delivered to the next subscription.",
			experiment: pause,
		},
		{
			Name:       "closed subscription",
			Rule:       "Close can be called twice, and Receive and Health return ErrBrokerClosed afterwards.",
			experiment: closedSubscription,
		},
		{
			Name:       "close wakes receive",
			Rule:       "a Receive that waits returns ErrBrokerClosed when the subscription is closed.",
			experiment: closeWakesReceive,
		},
		{
			Name:       "forget",
			Rule:       "after Forget neither old messages nor those published meanwhile are delivered to a new subscription of that name.",
			experiment: forget,
		},
		{
			Name:       "receive stops with its context",
			Rule:       "Receive returns the context's error when the context ends, and loses no message by it.",
			experiment: receiveStops,
		},
		{
			Name:       "subscribe stops with its context",
			Rule:       "Subscribe and Connect with a context that has ended return an error that wraps ErrBrokerUnavailable.",
			experiment: subscribeStops,
		},
	}
}

// filled is a subscription with n messages on their way to it.
func (r *rig) filled(window, n int) (annotate.Subscription, *recorder, error) {
	s, err := r.subscribe("reader", window)
	if err != nil {
		return nil, nil, err
	}
	p, err := r.connect(0)
	if err != nil {
		return nil, nil, err
	}
	if err := p.publish(r.ctx, n); err != nil {
		return nil, nil, err
	}
	return s, p, p.await(r.ctx, n)
}

func order(r *rig) error {
	s, _, err := r.filled(0, 1000)
	if err != nil {
		return err
	}
	if err := r.receiveAndAck(s, 0, 1000); err != nil {
		return err
	}
	return r.nothingComes(s)
}

func comesAgain(r *rig) error {
	s, p, err := r.filled(0, 20)
	if err != nil {
		return err
	}
	got, err := r.receive(s, 0, 10)
	if err != nil {
		return err
	}
	ack(got[:4])
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	if err := p.publish(r.ctx, 5); err != nil {
		return err
	}
	if s, err = r.subscribe("reader", 0); err != nil {
		return err
	}
	return r.receiveAndAck(s, 4, 25)
}

func acksAreRemembered(r *rig) error {
	for round := range 5 { // an acknowledgement that is lost sometimes is lost
		s, p, err := r.filled(0, 20)
		if err != nil {
			return err
		}
		if err := r.receiveAndAck(s, 0, 20); err != nil {
			return fmt.Errorf("in round %d %w", round, err)
		}
		if err := s.Close(r.ctx); err != nil {
			return fmt.Errorf("the Close failed: %w", err)
		}
		if err := p.Close(r.ctx); err != nil {
			return fmt.Errorf("the Close failed: %w", err)
		}
	}
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	return r.nothingComes(s)
}

func messagesWait(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	if err := p.publish(r.ctx, 500); err != nil {
		return err
	}
	if err := p.await(r.ctx, 500); err != nil {
		return err
	}
	if s, err = r.subscribe("reader", 0); err != nil {
		return err
	}
	return r.receiveAndAck(s, 0, 500)
}

func inputWindow(r *rig) error {
	s, _, err := r.filled(10, 30)
	if err != nil {
		return err
	}
	got, err := r.receive(s, 0, 10)
	if err != nil {
		return err
	}
	if err := r.nothingComes(s); err != nil {
		return fmt.Errorf("with the window of 10 full %w", err)
	}
	ack(got[:1])
	next, err := r.receive(s, 10, 11)
	if err != nil {
		return err
	}
	if err := r.nothingComes(s); err != nil {
		return fmt.Errorf("with the window of 10 full again %w", err)
	}
	ack(got[1:])
	ack(next)
	return r.receiveAndAck(s, 11, 30)
}

func pause(r *rig) error {
	s, _, err := r.filled(0, 40)
	if err != nil {
		return err
	}
	got, err := r.receive(s, 0, 10)
	if err != nil {
		return err
	}
	if err := s.Pause(r.ctx); err != nil {
		return fmt.Errorf("the Pause failed: %w", err)
	}
	next := 10
	for {
		d, err := s.Receive(r.ctx)
		if errors.Is(err, annotate.ErrBrokerClosed) {
			break
		}
		if err != nil {
			return fmt.Errorf("the Receive after Pause failed with %w instead of ErrBrokerClosed", err)
		}
		if have := parseNumber(d.Payload); have != next {
			return fmt.Errorf("message %d came after Pause where %d was next", have, next)
		}
		got = append(got, d)
		next++
	}
	ack(got)
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	if s, err = r.subscribe("reader", 0); err != nil {
		return err
	}
	return r.receiveAndAck(s, next, 40)
}

func closedSubscription(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	if err := s.Health(); err != nil {
		return fmt.Errorf("the Health of a new subscription is %w", err)
	}
	for _, which := range []string{"first", "second"} {
		if err := s.Close(r.ctx); err != nil {
			return fmt.Errorf("the %s Close failed: %w", which, err)
		}
	}
	if _, err := s.Receive(r.ctx); !errors.Is(err, annotate.ErrBrokerClosed) {
		return fmt.Errorf("the Receive returned %w", errOrNil{err})
	}
	if err := s.Health(); !errors.Is(err, annotate.ErrBrokerClosed) {
		return fmt.Errorf("the Health returned %w", errOrNil{err})
	}
	return nil
}

func closeWakesReceive(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() {
		_, err := s.Receive(r.ctx)
		received <- err
	}()
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	err = errors.New("not yet when the time was over")
	select {
	case err = <-received:
	case <-r.ctx.Done():
	}
	if !errors.Is(err, annotate.ErrBrokerClosed) {
		return fmt.Errorf("the Receive returned %w", errOrNil{err})
	}
	return nil
}

func forget(r *rig) error {
	s, p, err := r.filled(0, 10)
	if err != nil {
		return err
	}
	if _, err := r.receive(s, 0, 5); err != nil {
		return err
	}
	if err := s.Forget(r.ctx); err != nil {
		return fmt.Errorf("the Forget failed: %w", err)
	}
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close after Forget failed: %w", err)
	}
	if err := p.publish(r.ctx, 10); err != nil {
		return err
	}
	if err := p.await(r.ctx, 20); err != nil {
		return err
	}
	if s, err = r.subscribe("reader", 0); err != nil {
		return err
	}
	if err := p.publish(r.ctx, 5); err != nil {
		return err
	}
	return r.receiveAndAck(s, 20, 25)
}

func receiveStops(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	stopped := make(chan error, 1)
	go func() {
		_, err := s.Receive(ctx)
		stopped <- err
	}()
	cancel()
	err = errors.New("not yet when the time was over")
	select {
	case err = <-stopped:
	case <-r.ctx.Done():
	}
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the Receive returned %w", errOrNil{err})
	}
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	if err := p.publish(r.ctx, 3); err != nil {
		return err
	}
	return r.receiveAndAck(s, 0, 3)
}

func subscribeStops(r *rig) error {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if s, err := r.Broker.Subscribe(ctx, r.settings("late"), annotate.ConnectOptions{}); !errors.Is(err, annotate.ErrBrokerUnavailable) {
		if err == nil {
			_ = s.Forget(r.ctx)
		}
		return fmt.Errorf("the Subscribe returned %w", errOrNil{err})
	}
	if p, err := r.Broker.Connect(ctx, r.settings("late"), annotate.ConnectOptions{}); !errors.Is(err, annotate.ErrBrokerUnavailable) {
		if err == nil {
			_ = p.Close(r.ctx)
		}
		return fmt.Errorf("the Connect returned %w", errOrNil{err})
	}
	return nil
}
