package brokertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
)

// outputChecks are the rules of annotate.Publisher.
func outputChecks() []Check {
	return []Check{
		{
			Name:       "confirmations",
			Rule:       "every accepted message is confirmed exactly once, in the order of the calls.",
			experiment: confirmations,
		},
		{
			Name:       "confirmed means kept",
			Rule:       "a message that was confirmed is with the broker, whatever becomes of the publisher.",
			experiment: confirmedMeansKept,
		},
		{
			Name: "close confirms",
			Rule: "Close returns when every accepted message is confirmed, can be called twice, and Publish and " +
				"Health return ErrBrokerClosed afterwards.",
			experiment: closeConfirms,
		},
		{
			Name:       "publish stops with its context",
			Rule:       "Publish with a context that has ended returns the context's error, and the message is neither sent nor confirmed.",
			experiment: publishStops,
		},
		{
			Name:       "payloads",
			Rule:       "payloads of any bytes, from none to 1 MiB, arrive unchanged.",
			experiment: payloads,
		},
	}
}

func confirmations(r *rig) error {
	p, err := r.connect(16)
	if err != nil {
		return err
	}
	if err := p.publish(r.ctx, 1000); err != nil {
		return err
	}
	if err := p.await(r.ctx, 1000); err != nil {
		return err
	}
	if err := p.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	return p.check(1000)
}

func confirmedMeansKept(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	if err := s.Close(r.ctx); err != nil {
		return fmt.Errorf("the Close failed: %w", err)
	}
	for i := range 10 { // a new publisher each time, closed right after the last confirmation
		p, err := r.connect(0)
		if err != nil {
			return err
		}
		for n := range 20 {
			if err := p.publishOne(r.ctx, number(20*i+n)); err != nil {
				return fmt.Errorf("the Publish failed: %w", err)
			}
		}
		if err := p.await(r.ctx, 20); err != nil {
			return err
		}
		if err := p.Close(r.ctx); err != nil {
			return fmt.Errorf("the Close failed: %w", err)
		}
	}
	if s, err = r.subscribe("reader", 0); err != nil {
		return err
	}
	return r.receiveAndAck(s, 0, 200)
}

func closeConfirms(r *rig) error {
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	if err := p.Health(); err != nil {
		return fmt.Errorf("the Health of a new publisher is %w", err)
	}
	if err := p.publish(r.ctx, 200); err != nil {
		return err
	}
	for _, which := range []string{"first", "second"} {
		if err := p.Close(r.ctx); err != nil {
			return fmt.Errorf("the %s Close failed: %w", which, err)
		}
		if err := p.check(200); err != nil {
			return fmt.Errorf("after the %s Close %w", which, err)
		}
	}
	if err := p.publishOne(r.ctx, number(0)); !errors.Is(err, annotate.ErrBrokerClosed) {
		return fmt.Errorf("the Publish returned %w", errOrNil{err})
	}
	if err := p.Health(); !errors.Is(err, annotate.ErrBrokerClosed) {
		return fmt.Errorf("the Health returned %w", errOrNil{err})
	}
	return nil
}

func publishStops(r *rig) error {
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if err := p.publishOne(ctx, number(99)); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the Publish returned %w", errOrNil{err})
	}
	if err := p.publish(r.ctx, 3); err != nil {
		return err
	}
	if err := p.await(r.ctx, 3); err != nil {
		return err
	}
	return r.receiveAndAck(s, 0, 3)
}

func payloads(r *rig) error {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	sent := [][]byte{
		{}, {0}, every,
		bytes.Repeat(every, 4<<10/256+1),
		bytes.Repeat(every, 1<<20/256),
		{}, []byte("after the large one"),
	}
	s, err := r.subscribe("reader", 0)
	if err != nil {
		return err
	}
	p, err := r.connect(0)
	if err != nil {
		return err
	}
	for _, payload := range sent {
		if err := p.publishOne(r.ctx, payload); err != nil {
			return fmt.Errorf("the Publish of %d bytes failed: %w", len(payload), err)
		}
	}
	for i, want := range sent {
		d, err := s.Receive(r.ctx)
		if err != nil {
			return fmt.Errorf("the Receive of payload %d (%d bytes) failed: %w", i, len(want), err)
		}
		if !bytes.Equal(d.Payload, want) {
			return fmt.Errorf("payload %d came with %d bytes, %d were sent, or differs in content", i, len(d.Payload), len(want))
		}
		d.Ack()
	}
	return p.await(r.ctx, len(sent))
}
