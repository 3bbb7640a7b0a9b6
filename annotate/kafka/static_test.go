package kafka_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// patient returns a broker whose members the cluster misses only after minutes: what happens
// sooner does not happen because of a timeout.
func patient() *kafka.Broker {
	return kafka.New(&kafka.Options{SessionTimeout: 4 * time.Minute, HeartbeatInterval: 100 * time.Millisecond,
		CommitInterval: 50 * time.Millisecond})
}

func TestBroker_Subscribe_takesThePlaceOfAMemberThatIsNotGone(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 2, 0)
	topic := cluster.Settings("topic", "group")
	member := annotate.ConnectOptions{Member: "channel with spaces and ü"}
	first, err := patient().Subscribe(t.Context(), topic, member)
	require.NoError(t, err)
	t.Cleanup(func() { _ = first.Close(t.Context()) })
	fill(t, cluster, "topic", 0, 10)
	for range 5 {
		d, err := first.Receive(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, d.Payload) // none is acknowledged
	}

	second, err := patient().Subscribe(t.Context(), topic, member)
	require.NoError(t, err)
	for range 10 {
		d, err := second.Receive(t.Context())
		require.NoError(t, err)
		d.Ack()
	}
	for err == nil {
		_, err = first.Receive(t.Context())
	}
	require.ErrorContains(t, err, `another process continues the subscription of topic "topic" in group "group"`)
	require.NoError(t, first.Close(t.Context()))

	fill(t, cluster, "topic", 10, 20)
	for range 10 { // the end of the first one did not take the second one out of the group
		d, err := second.Receive(t.Context())
		require.NoError(t, err)
		d.Ack()
	}
	require.NoError(t, second.Health())
	require.NoError(t, second.Close(t.Context()))
}

func TestSubscription_Close_freesThePartitionsOfAStaticMemberAtOnce(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 2, 0)
	topic := cluster.Settings("topic", "group")
	first, err := patient().Subscribe(t.Context(), topic, annotate.ConnectOptions{Member: "one"})
	require.NoError(t, err)
	require.NoError(t, first.Close(t.Context()))
	fill(t, cluster, "topic", 0, 10)
	second, err := patient().Subscribe(t.Context(), topic, annotate.ConnectOptions{Member: "another"})
	require.NoError(t, err)
	for range 10 {
		d, err := second.Receive(t.Context())
		require.NoError(t, err)
		d.Ack()
	}
	require.NoError(t, second.Forget(t.Context()))
}
