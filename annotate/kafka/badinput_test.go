package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

// may is the right of a user to do something with a resource.
func may(resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
}

// restricted starts a cluster with the topics "in" and "out" and a user "eve"
// of these rights.
func restricted(t *testing.T, rights ...kfake.ACL) func(topic, group string) annotate.TopicSettings {
	cluster := kafkatest.Embedded(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "in", "out"),
		kfake.User(annotate.KafkaPlain, "eve", "a secret", rights...))
	return func(topic, group string) annotate.TopicSettings {
		settings := cluster.Settings(topic, group)
		settings.Kafka.User, settings.Kafka.Password = "eve", "a secret"
		return settings
	}
}

func TestAUserWithoutTheRightToReadIsToldSo(t *testing.T) {
	const topic, group = kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup
	for name, test := range map[string]struct {
		rights []kfake.ACL
		want   string
	}{
		"nothing":        {nil, `subscribe to topic "in": annotate: broker unavailable: the user has no right to the topic`},
		"only the topic": {[]kfake.ACL{may(topic, "in", kmsg.ACLOperationRead)}, `no right to the consumer group`},
		"only the group": {[]kfake.ACL{may(group, "readers", kmsg.ACLOperationRead)}, `no right to the topic`},
	} {
		t.Run(name, func(t *testing.T) {
			settings := restricted(t, test.rights...)
			_, err := kafka.New(quick(nil)).Subscribe(t.Context(), settings("in", "readers"), annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "a secret")
		})
	}
}

func TestAUserWithoutTheRightToSeeATopicIsToldSo(t *testing.T) {
	_, err := kafka.New(quick(nil)).Connect(t.Context(), restricted(t)("out", ""), annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, `connect to topic "out": annotate: broker unavailable: the user has no right to the topic`)
}

// A right that is missing is no fault of a message: none is given up, they
// wait until somebody grants it.
func TestMessagesWaitWhileTheUserMayNotWrite(t *testing.T) {
	settings := restricted(t,
		may(kmsg.ACLResourceTypeTopic, "out", kmsg.ACLOperationDescribe),
		may(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationIdempotentWrite))
	pub, err := kafka.New(quick(nil)).Connect(t.Context(), settings("out", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	confirmed := make(chan error, 1)
	require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte("x")}, func(err error) { confirmed <- err }))
	require.Eventually(t, func() bool { return pub.Health() != nil }, 20*time.Second, 5*time.Millisecond)
	require.ErrorContains(t, pub.Health(), `connection to topic "out"`)
	require.ErrorContains(t, pub.Health(), "the user has no right to the topic")
	require.Empty(t, confirmed)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, pub.Close(soon), "1 messages unconfirmed")
	require.ErrorIs(t, <-confirmed, annotate.ErrBrokerClosed)
}

func TestRecordsWithoutKeyOrValueAndWithHeadersAreReceived(t *testing.T) {
	cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "topic"))
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()))
	require.NoError(t, err)
	defer client.Close()
	records := []*kgo.Record{
		{Topic: "topic", Value: []byte("no key")},
		{Topic: "topic", Key: []byte("grave")}, // a tombstone
		{Topic: "topic", Key: []byte{}, Value: []byte{}},
		{Topic: "topic", Key: []byte("k"), Value: []byte("headers"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}, {Key: "h"}}},
	}
	require.NoError(t, client.ProduceSync(t.Context(), records...).FirstErr())
	sub, err := kafka.New(quick(nil)).Subscribe(t.Context(), cluster.Settings("topic", "group"), annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, want := range records {
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, want.Key, d.Key)
		require.Equal(t, string(want.Value), string(d.Payload))
		d.Ack()
	}
	require.NoError(t, sub.Close(t.Context()))
}

// On a compacted topic a record without a value deletes what its key had.
func TestAnEmptyMessageIsNoTombstone(t *testing.T) {
	cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "topic"))
	pub, err := kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings("topic", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, m := range []annotate.Message{{Key: []byte("k")}, {Key: []byte("k"), Payload: []byte{}}, {}} {
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) {
			if err != nil {
				t.Error(err)
			}
		}))
	}
	require.NoError(t, pub.Close(t.Context()))
	records := cluster.Committed("topic", 1)
	require.Len(t, records, 3)
	for _, r := range records {
		require.NotNil(t, r.Value)
		require.Empty(t, r.Value)
	}
	require.Equal(t, "k", string(records[0].Key))
	require.Nil(t, records[2].Key)
}

// Where outputs are committed exactly once, the output of a later message must
// not be committed before it is on record that an earlier one has none: who
// died in between would find the later one uncommitted, and repeat its output.
func TestNothingOvertakesARefusedOutputInATransaction(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("in", 1, 0)
	cluster.Topic("out", 1, 10_000)
	source, err := kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings("in", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, text := range []string{"a", "large", "b", "c"} {
		require.NoError(t, source.Publish(t.Context(), annotate.Message{Payload: []byte(text)}, func(error) {}))
	}
	require.NoError(t, source.Close(t.Context()))
	sub, pub, err := kafka.New(quick(nil)).Transact(t.Context(), cluster.Settings("in", "group"), cluster.Settings("out", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	refused := make(chan annotate.Delivery, 1)
	for range 4 {
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		m := annotate.Message{Payload: d.Payload, Origin: d.Origin}
		if string(d.Payload) == "large" {
			m.Payload = make([]byte, 20_000)
		}
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) {
			if err != nil {
				refused <- d
				return
			}
			d.Ack()
		}))
	}
	d := <-refused
	require.Never(t, func() bool { return committed(cluster, "out", 1) > 1 }, 500*time.Millisecond, 20*time.Millisecond)
	d.Ack()
	require.Eventually(t, func() bool { return committed(cluster, "out", 1) == 3 }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, pub.Close(t.Context()))
	require.NoError(t, sub.Close(t.Context()))
}
