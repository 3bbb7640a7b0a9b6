package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
)

// gauged is a broker whose connections tell their lag and reconnections.
type gauged struct {
	annotate.Broker
	lag        atomic.Int64 // negative: not known
	reconnects atomic.Uint64
}

type gaugedSubscription struct {
	annotate.Subscription
	*gauged
}

type gaugedPublisher struct {
	annotate.Publisher
	*gauged
}

func (b *gauged) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, error,
) {
	s, err := b.Broker.Subscribe(ctx, topic, opts)
	return gaugedSubscription{s, b}, err
}

func (b *gauged) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	p, err := b.Broker.Connect(ctx, topic, opts)
	return gaugedPublisher{p, b}, err
}

func (s gaugedSubscription) Lag() (int64, bool) { return s.lag.Load(), s.lag.Load() >= 0 }

func (s gaugedSubscription) Reconnects() uint64 { return s.reconnects.Load() }

func (p gaugedPublisher) Reconnects() uint64 { return 1 }

func TestNewHandler_metrics_haveLagReconnectionsAndLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := annotate.NewMemoryBroker(nil)
		b := &gauged{Broker: memory}
		m, _ := managertest.Start(t, managertest.Config(b, nil))
		handler := rest.NewHandler(m, nil)
		metrics := func() string {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			require.Equal(t, http.StatusOK, recorder.Code)
			return recorder.Body.String()
		}
		managertest.Create(t, m, managertest.Channel("slow"))
		b.lag.Store(7)
		b.reconnects.Store(2)
		memory.HoldConfirmations()
		managertest.Publish(t, memory, "slow/in", 0, 3)
		managertest.Await(t, memory, "slow/out", 3)
		time.Sleep(60 * time.Millisecond)
		memory.ReleaseConfirmations()
		synctest.Wait()
		body := metrics()
		for _, line := range []string{
			`annotator_latency_seconds_count{channel="slow"} 3`,
			`annotator_lag_messages{channel="slow"} 7`,
			`annotator_reconnects_total{channel="slow"} 3`,
			`annotator_latency_seconds_bucket{channel="slow",le="0.05"} 0`,
			`annotator_latency_seconds_bucket{channel="slow",le="0.1"} 3`,
			`annotator_latency_seconds_bucket{channel="slow",le="60"} 3`,
			`annotator_latency_seconds_bucket{channel="slow",le="+Inf"} 3`,
		} {
			require.Contains(t, body, line+"\n")
		}
		b.lag.Store(-1)
		require.NotContains(t, metrics(), "annotator_lag_messages{")

		// What was counted stays when the channel is stopped.
		managertest.Patch(t, m, "slow", true)
		require.Contains(t, metrics(), `annotator_reconnects_total{channel="slow"} 3`)
		require.Contains(t, metrics(), `annotator_channel_running{channel="slow"} 0`)
	})
}
