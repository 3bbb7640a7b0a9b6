package brokertest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate"
)

// moment is long enough for a broker that misbehaves to show it, and short
// enough to be waited for in vain where it does not.
const moment = 150 * time.Millisecond

// soon is enough for a call that waits for nothing, on a slow machine too.
const soon = time.Minute

// rig is the set-up of one experiment.
type rig struct {
	Harness
	ctx   context.Context
	topic string

	cut           bool
	clients       int
	subscriptions []annotate.Subscription
	publishers    []*recorder
}

// settings names the experiment's topic for a client.
func (r *rig) settings(client string) annotate.Topic {
	name := strings.NewReplacer("/", "-").Replace(r.topic) + "-" + client
	return r.Topic(r.topic, name)
}

// subscribe creates a subscription of the name.
func (r *rig) subscribe(name string, window int) (annotate.Subscription, error) {
	s, err := r.Broker.Subscribe(r.ctx, r.settings(name), annotate.ConnectOptions{Window: window})
	if err != nil {
		return nil, fmt.Errorf("the Subscribe failed: %w", err)
	}
	r.subscriptions = append(r.subscriptions, s)
	return s, nil
}

// connect creates a publisher.
func (r *rig) connect(window int) (*recorder, error) {
	r.clients++
	p, err := r.Broker.Connect(r.ctx, r.settings(fmt.Sprintf("publisher-%d", r.clients)), annotate.ConnectOptions{Window: window})
	if err != nil {
		return nil, fmt.Errorf("the Connect failed: %w", err)
	}
	rec := &recorder{Publisher: p, topic: r.settings("").Name, changed: make(chan struct{})}
	r.publishers = append(r.publishers, rec)
	return rec, nil
}

// interrupt is Cut, undone by cleanUp if the experiment does not get to it.
func (r *rig) interrupt() {
	r.cut = true
	r.Cut()
}

func (r *rig) resume() {
	r.cut = false
	r.Restore()
}

// cleanUp leaves nothing behind at the broker.
func (r *rig) cleanUp() {
	if r.cut {
		r.resume()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), soon)
	defer cancel()
	for _, p := range r.publishers {
		_ = p.Close(ctx)
	}
	for _, s := range r.subscriptions {
		_ = s.Forget(ctx)
	}
}

// recorder is a publisher that numbers its messages and notes their
// confirmations.
type recorder struct {
	annotate.Publisher
	topic string
	sent  int

	mu      sync.Mutex
	order   []int
	errs    []error
	changed chan struct{}
}

// number is the payload of the n-th message.
func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// parseNumber reads it back, -1 when it is none.
func parseNumber(payload []byte) int {
	if len(payload) != 4 {
		return -1
	}
	return int(binary.BigEndian.Uint32(payload))
}

// publish sends the next n numbers.
func (p *recorder) publish(ctx context.Context, n int) error {
	for range n {
		if err := p.publishOne(ctx, number(p.sent)); err != nil {
			return fmt.Errorf("the Publish of message %d failed: %w", p.sent, err)
		}
	}
	return nil
}

func (p *recorder) publishOne(ctx context.Context, payload []byte) error {
	n := p.sent
	err := p.Publish(ctx, annotate.Message{Topic: p.topic, Payload: payload}, func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.order = append(p.order, n)
		p.errs = append(p.errs, err)
		close(p.changed)
		p.changed = make(chan struct{})
	})
	if err == nil {
		p.sent++
	}
	return err
}

// confirmations returns what was confirmed so far.
func (p *recorder) confirmations() (order []int, errs []error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int(nil), p.order...), append([]error(nil), p.errs...)
}

// await waits for n confirmations and checks all of them.
func (p *recorder) await(ctx context.Context, n int) error {
	for {
		p.mu.Lock()
		have, changed := len(p.order), p.changed
		p.mu.Unlock()
		if have >= n {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages were confirmed in time", have, n)
		}
	}
	return p.check(n)
}

// check demands exactly n confirmations, in order and without errors.
func (p *recorder) check(n int) error {
	order, errs := p.confirmations()
	if len(order) != n {
		return fmt.Errorf("%d messages were confirmed instead of %d", len(order), n)
	}
	for i := range order {
		if order[i] != i {
			return fmt.Errorf("confirmation %d was for message %d", i, order[i])
		}
		if errs[i] != nil {
			return fmt.Errorf("message %d was confirmed with the error %w", i, errs[i])
		}
	}
	return nil
}

// receive demands the numbers from up to, not including, end, in order, and
// nothing else.
func (r *rig) receive(s annotate.Subscription, from, end int) ([]annotate.Delivery, error) {
	var got []annotate.Delivery
	for n := from; n < end; n++ {
		d, err := s.Receive(r.ctx)
		if err != nil {
			return nil, fmt.Errorf("the Receive failed where message %d was expected: %w", n, err)
		}
		if topic := r.settings("").Name; d.Topic != topic {
			return nil, fmt.Errorf("the message came with topic %q instead of %q", d.Topic, topic)
		}
		if have := parseNumber(d.Payload); have != n {
			return nil, fmt.Errorf("message %d came where %d was expected", have, n)
		}
		got = append(got, d)
	}
	return got, nil
}

// receiveAndAck is receive, acknowledging each message at once.
func (r *rig) receiveAndAck(s annotate.Subscription, from, end int) error {
	for n := from; n < end; n++ {
		got, err := r.receive(s, n, n+1)
		if err != nil {
			return err
		}
		ack(got)
	}
	return nil
}

func ack(deliveries []annotate.Delivery) {
	for _, d := range deliveries {
		d.Ack()
	}
}

// nothingComes demands that Receive has nothing to hand out for a moment.
func (r *rig) nothingComes(s annotate.Subscription) error {
	ctx, cancel := context.WithTimeout(r.ctx, moment)
	defer cancel()
	d, err := s.Receive(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("message %d came", parseNumber(d.Payload))
	case !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the Receive failed with %w instead of the context's error", err)
	}
	return nil
}

// becomes waits until the health is good, or bad.
func (r *rig) becomes(health func() error, good bool) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := health()
		if (err == nil) == good {
			return nil
		}
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			return fmt.Errorf("the Health did not become good (%t) in time, it is %w", good, errOrNil{err})
		}
	}
}

// errOrNil prints an error that may be nil.
type errOrNil struct{ err error }

func (e errOrNil) Error() string {
	if e.err == nil {
		return "nil"
	}
	return e.err.Error()
}
