package manager_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
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
	memory := annotate.NewMemoryBroker(nil)
	b := &gauged{Broker: memory}
	m, _ := runManager(t, managerConfig(b, nil))
	rest := newClientOf(t, m)
	create(t, m, config("slow"))
	b.lag.Store(7)
	b.reconnects.Store(2)
	memory.HoldConfirmations()
	publish(t, memory, "slow/in", 0, 3)
	await(t, memory, "slow/out", 3)
	arrived := time.Now()
	require.Eventually(t, func() bool { return time.Since(arrived) > 60*time.Millisecond }, patience, time.Millisecond)
	memory.ReleaseConfirmations()
	require.Eventually(t, func() bool {
		return strings.Contains(rest.get("/metrics").body, `annotator_latency_seconds_count{channel="slow"} 3`)
	}, patience, time.Millisecond)
	body := rest.get("/metrics").body
	for _, line := range []string{
		`annotator_lag_messages{channel="slow"} 7`,
		`annotator_reconnects_total{channel="slow"} 3`,
		`annotator_latency_seconds_bucket{channel="slow",le="0.05"} 0`,
		`annotator_latency_seconds_bucket{channel="slow",le="60"} 3`,
		`annotator_latency_seconds_bucket{channel="slow",le="+Inf"} 3`,
	} {
		require.Contains(t, body, line+"\n")
	}
	b.lag.Store(-1)
	require.NotContains(t, rest.get("/metrics").body, "annotator_lag_messages{")

	// What was counted stays when the channel is stopped.
	patch(t, m, "slow", true)
	require.Contains(t, rest.get("/metrics").body, `annotator_reconnects_total{channel="slow"} 3`)
	require.Contains(t, rest.get("/metrics").body, `annotator_channel_running{channel="slow"} 0`)
}
