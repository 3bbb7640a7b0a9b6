package manager_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

// frail is a broker whose subscriptions end as soon as they are there.
type frail struct {
	annotate.Broker
	subscribed atomic.Int64
}

func (b *frail) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, error,
) {
	if b.subscribed.Add(1) > 1000 {
		return nil, annotate.ErrBrokerUnavailable // enough was seen
	}
	s, err := b.Broker.Subscribe(ctx, topic, opts)
	return broken{s}, err
}

type broken struct{ annotate.Subscription }

func (broken) Receive(context.Context) (annotate.Delivery, error) {
	return annotate.Delivery{}, errors.New("the subscription is broken")
}

func TestManager_failingChannel_isRetriedWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &frail{Broker: annotate.NewMemoryBroker(nil)}
		c := managertest.Config(b, nil)
		c.RetryMin, c.RetryMax = time.Second, time.Minute
		m, stop := managertest.Start(t, c)
		managertest.Create(t, m, managertest.Channel("frail"))
		time.Sleep(time.Hour)
		synctest.Wait()
		// After pauses of 1, 2, 4, ... 32 seconds, and then of 60. A channel that
		// failed before its keeper first looked is started once more, at once.
		require.Contains(t, []int64{7 + 58, 7 + 58 + 1}, b.subscribed.Load())
		s := managertest.Status(t, m, "frail")
		require.True(t, s.Stopped)
		require.Contains(t, s.Error, `receive from topic "frail/in": the subscription is broken`)
		require.NoError(t, stop())
	})
}
