package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// A member that dies is missed only when its session is over. Whoever comes in
// its place has less time than that, and must not give up: it would be the next
// to be missed.
func TestSubscriptionOpensWhileItsGroupWaitsForAMemberThatDied(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 2, 0)
	settings := cluster.Settings("topic", "group")
	fill(t, cluster, "topic", 0, 10)
	// A member with a name of its own does not leave when it ends.
	const session = 4 * time.Second
	dead, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()), kgo.ConsumerGroup("group"), kgo.ConsumeTopics("topic"),
		kgo.InstanceID("dead"), kgo.SessionTimeout(session), kgo.HeartbeatInterval(session/4), kgo.RebalanceTimeout(2*session),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit())
	require.NoError(t, err)
	require.NoError(t, dead.PollFetches(t.Context()).Err())
	dead.Close()

	ctx, cancel := context.WithTimeout(t.Context(), session*3/4)
	defer cancel()
	sub, err := kafka.New(nil).Subscribe(ctx, settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close(context.Background()) })
	require.ErrorIs(t, sub.Health(), annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, sub.Health(), "waits for its members")

	patient, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	w := newWitness(t)
	for w.count() < 10 {
		d, err := sub.Receive(patient)
		require.NoError(t, err)
		w.note(d)
		d.Ack()
	}
	require.NoError(t, sub.Health())
}
