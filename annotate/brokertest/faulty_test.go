package brokertest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
)

// faulty is a broker with a fault in its subscriptions or its publishers.
type faulty struct {
	annotate.Broker
	input  func(annotate.Subscription) annotate.Subscription
	output func(annotate.Publisher) annotate.Publisher
	refuse error // replaces every error of Subscribe and Connect
}

func (f faulty) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, error,
) {
	s, err := f.Broker.Subscribe(ctx, topic, opts)
	if err != nil && f.refuse != nil {
		err = f.refuse
	}
	if err == nil && f.input != nil {
		s = f.input(s)
	}
	return s, err
}

func (f faulty) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	p, err := f.Broker.Connect(ctx, topic, opts)
	if err == nil && f.output != nil {
		p = f.output(p)
	}
	return p, err
}

// inputFault is a subscription with some of its methods replaced.
type inputFault struct {
	annotate.Subscription
	receive func(context.Context) (annotate.Delivery, error)
	health  func() error
	pause   func(context.Context) error
	close   func(context.Context) error
	forget  func(context.Context) error
}

func (f inputFault) Receive(ctx context.Context) (annotate.Delivery, error) {
	if f.receive != nil {
		return f.receive(ctx)
	}
	return f.Subscription.Receive(ctx)
}

func (f inputFault) Health() error {
	if f.health != nil {
		return f.health()
	}
	return f.Subscription.Health()
}

func (f inputFault) Pause(ctx context.Context) error {
	if f.pause != nil {
		return f.pause(ctx)
	}
	return f.Subscription.Pause(ctx)
}

func (f inputFault) Close(ctx context.Context) error {
	if f.close != nil {
		return f.close(ctx)
	}
	return f.Subscription.Close(ctx)
}

func (f inputFault) Forget(ctx context.Context) error {
	if f.forget != nil {
		return f.forget(ctx)
	}
	return f.Subscription.Forget(ctx)
}

// outputFault is a publisher with some of its methods replaced.
type outputFault struct {
	annotate.Publisher
	publish func(context.Context, annotate.Message, func(error)) error
	health  func() error
	close   func(context.Context) error
}

func (f outputFault) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
	if f.publish != nil {
		return f.publish(ctx, m, confirmed)
	}
	return f.Publisher.Publish(ctx, m, confirmed)
}

func (f outputFault) Health() error {
	if f.health != nil {
		return f.health()
	}
	return f.Publisher.Health()
}

func (f outputFault) Close(ctx context.Context) error {
	if f.close != nil {
		return f.close(ctx)
	}
	return f.Publisher.Close(ctx)
}

// every returns a function that is true at each n-th call.
func every(n int) func() bool {
	calls := 0
	return func() bool {
		calls++
		return calls%n == 0
	}
}

func acksAtOnce(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, receive: func(ctx context.Context) (annotate.Delivery, error) {
		d, err := s.Receive(ctx)
		if err == nil {
			d.Ack()
			d.Ack = func() {}
		}
		return d, err
	}}
}

func acksNever(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, receive: func(ctx context.Context) (annotate.Delivery, error) {
		d, err := s.Receive(ctx)
		d.Ack = func() {}
		return d, err
	}}
}

func dropsSome(s annotate.Subscription) annotate.Subscription {
	now := every(100)
	return inputFault{Subscription: s, receive: func(ctx context.Context) (annotate.Delivery, error) {
		d, err := s.Receive(ctx)
		if err == nil && now() {
			d.Ack()
			return s.Receive(ctx)
		}
		return d, err
	}}
}

func repeatsSome(s annotate.Subscription) annotate.Subscription {
	now := every(100)
	var last annotate.Delivery
	return inputFault{Subscription: s, receive: func(ctx context.Context) (annotate.Delivery, error) {
		if now() {
			return last, nil
		}
		d, err := s.Receive(ctx)
		last = annotate.Delivery{Message: d.Message, Ack: func() {}}
		return d, err
	}}
}

func truncates(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, receive: func(ctx context.Context) (annotate.Delivery, error) {
		d, err := s.Receive(ctx)
		d.Payload = d.Payload[:min(len(d.Payload), 64<<10)]
		return d, err
	}}
}

func ignoresPause(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, pause: func(context.Context) error { return nil }}
}

func closesOnce(s annotate.Subscription) annotate.Subscription {
	var mu sync.Mutex
	closed := false
	return inputFault{Subscription: s, close: func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if closed {
			return errors.New("already closed")
		}
		closed = true
		return s.Close(ctx)
	}}
}

func remembersAnyway(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, forget: s.Close}
}

func closeForgets(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, close: s.Forget}
}

func ignoresTheContext(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, receive: func(context.Context) (annotate.Delivery, error) {
		return s.Receive(context.Background())
	}}
}

func alwaysHealthy(s annotate.Subscription) annotate.Subscription {
	return inputFault{Subscription: s, health: func() error { return nil }}
}

func confirmsTwice(p annotate.Publisher) annotate.Publisher {
	return outputFault{Publisher: p, publish: func(ctx context.Context, m annotate.Message, confirmed func(error)) error {
		return p.Publish(ctx, m, func(err error) { confirmed(err); confirmed(err) })
	}}
}

func confirmsInPairsSwapped(p annotate.Publisher) annotate.Publisher {
	var held []func()
	return outputFault{Publisher: p, publish: func(ctx context.Context, m annotate.Message, confirmed func(error)) error {
		return p.Publish(ctx, m, func(err error) {
			held = append(held, func() { confirmed(err) })
			if len(held) == 2 {
				slices.Reverse(held)
				for _, confirm := range held {
					confirm()
				}
				held = nil
			}
		})
	}}
}

func confirmsUnsent(p annotate.Publisher) annotate.Publisher {
	now := every(15)
	return outputFault{Publisher: p, publish: func(ctx context.Context, m annotate.Message, confirmed func(error)) error {
		if now() {
			confirmed(nil)
			return nil
		}
		return p.Publish(ctx, m, confirmed)
	}}
}

func unlimited(p annotate.Publisher) annotate.Publisher {
	return outputFault{Publisher: p, publish: func(ctx context.Context, m annotate.Message, confirmed func(error)) error {
		if err := p.Publish(ctx, m, confirmed); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	}}
}

func closesWithoutWaiting(p annotate.Publisher) annotate.Publisher {
	return outputFault{
		Publisher: p,
		publish: func(ctx context.Context, m annotate.Message, _ func(error)) error {
			return p.Publish(ctx, m, func(error) {}) // after the confirmation was due
		},
		close: func(ctx context.Context) error {
			hurried, cancel := context.WithCancel(ctx)
			cancel()
			_ = p.Close(hurried)
			return nil
		},
	}
}

func publishIgnoresTheContext(p annotate.Publisher) annotate.Publisher {
	return outputFault{Publisher: p, publish: func(_ context.Context, m annotate.Message, confirmed func(error)) error {
		return p.Publish(context.Background(), m, confirmed)
	}}
}

func TestChecks_findFaultyBrokers(t *testing.T) {
	type (
		in  = func(annotate.Subscription) annotate.Subscription
		out = func(annotate.Publisher) annotate.Publisher
	)
	for _, c := range []struct {
		fault  string
		input  in
		output out
		refuse error
		found  []string // the checks that must fail
	}{
		{fault: "acknowledges on receipt", input: acksAtOnce, found: []string{"unacknowledged messages come again",
			"unacknowledged messages come again after an outage", "input window"}},
		{fault: "never acknowledges", input: acksNever, found: []string{"acknowledgements are remembered", "order"}},
		{fault: "drops a message in a hundred", input: dropsSome, found: []string{"order", "long stream", "long stream with interruptions"}},
		{fault: "repeats a message in a hundred", input: repeatsSome, found: []string{"order", "long stream"}},
		{fault: "truncates large messages", input: truncates, found: []string{"payloads"}},
		{fault: "ignores Pause", input: ignoresPause, found: []string{"pause"}},
		{fault: "fails the second Close", input: closesOnce, found: []string{"closed subscription"}},
		{fault: "does not forget", input: remembersAnyway, found: []string{"forget"}},
		{fault: "forgets on Close", input: closeForgets, found: []string{"messages wait for an absent subscriber",
			"unacknowledged messages come again"}},
		{fault: "Receive ignores its context", input: ignoresTheContext, found: []string{"receive stops with its context"}},
		{fault: "is always healthy", input: alwaysHealthy, found: []string{"health", "closed subscription"}},
		{fault: "confirms twice", output: confirmsTwice, found: []string{"confirmations"}},
		{fault: "confirms out of order", output: confirmsInPairsSwapped, found: []string{"confirmations"}},
		{fault: "confirms what it did not send", output: confirmsUnsent, found: []string{"confirmed means kept", "confirmations", "long stream"}},
		{fault: "has no window", output: unlimited, found: []string{"output window"}},
		{fault: "Close does not wait", output: closesWithoutWaiting, found: []string{"close confirms", "close of a publisher without broker"}},
		{fault: "Publish ignores its context", output: publishIgnoresTheContext, found: []string{"publish stops with its context"}},
		{fault: "does not say that the broker is unavailable", refuse: errors.New("no"),
			found: []string{"broker away at the start", "subscribe stops with its context"}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			requireFound(t, c.fault, c.found, func(b *annotate.MemoryBroker) annotate.Broker {
				return faulty{Broker: b, input: c.input, output: c.output, refuse: c.refuse}
			})
		})
	}
}

// requireFound demands that the checks of these names find the fault of a broker. Each runs in
// a bubble, so that what ends it is the fault, or its limit, and never a slow machine.
func requireFound(t *testing.T, fault string, found []string, spoil func(*annotate.MemoryBroker) annotate.Broker) {
	t.Helper()
	for _, name := range found {
		check := checkNamed(t, name)
		synctest.Test(t, func(t *testing.T) {
			h := memory()
			h.Broker = spoil(h.Broker.(*annotate.MemoryBroker))
			h.Messages = 1000
			err := check.Run(t.Context(), h)
			require.Error(t, err, "the check %q did not find a broker that %s", name, fault)
			require.ErrorContains(t, err, check.Rule)
		})
	}
}

func checkNamed(t *testing.T, name string) brokertest.Check {
	t.Helper()
	checks := brokertest.Checks()
	i := slices.IndexFunc(checks, func(c brokertest.Check) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, "there is no check %q", name)
	return checks[i]
}

func TestChecks_haveNamesAndRules(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range brokertest.Checks() {
		require.NotEmpty(t, c.Name)
		require.NotEmpty(t, c.Rule, c.Name)
		require.False(t, seen[c.Name], "the name %q is there twice", c.Name)
		seen[c.Name] = true
	}
}
