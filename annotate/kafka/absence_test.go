package kafka_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// TestBroker_Transact_reportsAnOutageBeforeTheFirstSession has a
// transaction that never ends, so that nothing but the loss itself can tell.
func TestBroker_Transact_reportsAnOutageBeforeTheFirstSession(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cable := mqtttest.NewProxy(t, cluster.Address)
	cluster.Topic("in", 1, 0)
	b := kafka.New(&kafka.Options{
		HeartbeatInterval: 20 * time.Millisecond,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, cable.String())
		},
	})
	settings := cluster.Settings("in", "group")
	kafkatest.Change(&settings, func(k *kafka.Settings) { k.OffsetReset = kafka.Latest }) // opens with a generation only
	s, startOver, err := kafka.SubscribeBusy(t.Context(), b, settings)
	require.NoError(t, err)
	startOver()
	require.NoError(t, s.Health())
	cable.Cut()
	require.Eventually(t, func() bool { return s.Health() != nil }, patience, time.Millisecond)
	require.ErrorIs(t, s.Health(), annotate.ErrBrokerUnavailable)
	require.NoError(t, s.Close(t.Context()))
}
