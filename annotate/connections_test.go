package annotate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// keyedBroker gives every message a record key, as Kafka does.
type keyedBroker struct{ annotate.Broker }

type keyedSubscription struct{ annotate.Subscription }

func (b keyedBroker) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, error,
) {
	s, err := b.Broker.Subscribe(ctx, topic, opts)
	return keyedSubscription{s}, err
}

func (s keyedSubscription) Receive(ctx context.Context) (annotate.Delivery, error) {
	d, err := s.Subscription.Receive(ctx)
	d.Key = []byte("k")
	return d, err
}

func TestChannel_outputKey_isThatOfTheInputOrTheChannel(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	for id, test := range map[string]struct {
		broker annotate.Broker
		want   string
	}{"plain": {b, "plain"}, "keyed": {keyedBroker{b}, "k"}} {
		channel := newChannel(t, config(id), environment(test.broker))
		require.NoError(t, channel.Start(t.Context()))
		publish(t, b, id+"/in", 0, 1)
		await(t, b, id+"/out", 1)
		require.Equal(t, test.want, string(b.Messages(id + "/out")[0].Key))
	}
}

func TestChannel_Stop_withoutDeadlineEndsAfterTheDrainTimeout(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.DrainTimeout = 50 * time.Millisecond
	channel := newChannel(t, config("limit"), env)
	require.NoError(t, channel.Start(t.Context()))
	b.HoldConfirmations()
	publish(t, b, "limit/in", 0, 1)
	await(t, b, "limit/out", 1)
	require.ErrorContains(t, channel.Stop(context.Background()), "messages not finished in time, to be delivered again: 1")
}
