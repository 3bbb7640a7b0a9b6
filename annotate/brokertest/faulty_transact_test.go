package brokertest_test

import (
	"context"
	"testing"

	"github.com/iotenablers/enablers/annotate"
)

// faultyTransactor is a broker whose transactions have a fault.
type faultyTransactor struct {
	*annotate.MemoryBroker
	input func(annotate.Subscription) annotate.Subscription
	plain bool // it makes two ends that know nothing of each other
}

func (f faultyTransactor) Transact(
	ctx context.Context, input, output annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, annotate.Publisher, error,
) {
	if !f.plain {
		s, p, err := f.MemoryBroker.Transact(ctx, input, output, opts)
		if err == nil {
			s = f.input(s)
		}
		return s, p, err
	}
	s, err := f.Subscribe(ctx, input, opts)
	if err != nil {
		return nil, nil, err
	}
	p, err := f.Connect(ctx, output, opts)
	return s, p, err
}

func TestChecks_findFaultyTransactors(t *testing.T) {
	for _, c := range []struct {
		fault string
		input func(annotate.Subscription) annotate.Subscription
		plain bool
		found []string
	}{
		{fault: "publishes outside transactions", plain: true, found: []string{"outputs and inputs are committed together",
			"transactions with interruptions"}},
		{fault: "never acknowledges", input: acksNever, found: []string{"input without output"}},
		{fault: "acknowledges on receipt", input: acksAtOnce, found: []string{"outputs and inputs are committed together",
			"input without output"}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			requireFound(t, c.fault, c.found, func(b *annotate.MemoryBroker) annotate.Broker {
				return faultyTransactor{MemoryBroker: b, input: c.input, plain: c.plain}
			})
		})
	}
}
