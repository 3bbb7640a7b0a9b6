package kafka

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// TestASubscriptionThatWaitsForATransactionSaysThatTheClusterIsAway has a
// transaction that never ends, so that nothing but the loss itself can tell.
func TestASubscriptionThatWaitsForATransactionSaysThatTheClusterIsAway(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cable := mqtttest.NewProxy(t, cluster.Address)
	cluster.Topic("in", 1, 0)
	b := New(&Options{
		HeartbeatInterval: 20 * time.Millisecond,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, cable.String())
		},
	})
	e, err := b.endpoint(cluster.Settings("in", "group"))
	require.NoError(t, err)
	busy := newTransaction(e, facts{}, annotate.DefaultWindow, "busy")
	s := newSubscription(e, annotate.DefaultWindow, busy)
	go func() { close(<-busy.rejoins) }() // the first time only
	require.NoError(t, s.open(t.Context()))
	s.startOver()
	require.NoError(t, s.Health())
	cable.Cut()
	require.Eventually(t, func() bool { return s.Health() != nil }, 2*time.Minute, time.Millisecond)
	require.ErrorIs(t, s.Health(), annotate.ErrBrokerUnavailable)
	require.NoError(t, s.Close(t.Context()))
}
