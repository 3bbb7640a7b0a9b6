package kafkatest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// The embedded cluster is asked the same in package kafka. The session timeout is longer than
// the test may take, so that nothing happens because of it.
func TestKafka_replacesAStaticMemberAtOnce(t *testing.T) {
	k := kafkatest.StartKafka(t, nil)
	k.Topic("topic", 2)
	topic := annotate.Topic{Name: "topic", Broker: kafka.Type, Settings: kafka.Settings{
		Host: k.Address().Host, Port: k.Address().Port, GroupID: "group", OffsetReset: kafka.Earliest,
	}}
	subscribe := func(member string) annotate.Subscription {
		t.Helper()
		broker := kafka.New(&kafka.Options{SessionTimeout: 20 * time.Minute, HeartbeatInterval: 200 * time.Millisecond})
		sub, err := broker.Subscribe(t.Context(), topic, annotate.ConnectOptions{Member: member})
		require.NoError(t, err)
		t.Cleanup(func() { _ = sub.Close(t.Context()) })
		return sub
	}
	receive := func(sub annotate.Subscription, text string) {
		t.Helper()
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, text, string(d.Payload))
		d.Ack()
	}
	client := connect(t, k.Address())
	first := subscribe("channel")
	require.NoError(t, write(t, client, "topic", "one"))
	receive(first, "one")
	require.NoError(t, first.Health())

	began := time.Now()
	second := subscribe("channel")
	t.Logf("its successor has the partitions after %s", time.Since(began).Round(time.Millisecond))
	_, err := first.Receive(t.Context())
	require.ErrorContains(t, err, "another process continues the subscription")
	require.NoError(t, first.Close(t.Context()))
	require.NoError(t, write(t, client, "topic", "two"))
	for { // the first one may not have committed its message
		d, err := second.Receive(t.Context())
		require.NoError(t, err)
		d.Ack()
		if string(d.Payload) == "two" {
			break
		}
	}
	require.NoError(t, second.Close(t.Context()))

	third := subscribe("another channel")
	require.NoError(t, write(t, client, "topic", "three"))
	receive(third, "three")
	require.NoError(t, third.Forget(t.Context()))
}
