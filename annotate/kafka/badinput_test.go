package kafka_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// may is the right of a user to do something with a resource.
func may(resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
}

func TestBroker_Subscribe_reportsAMissingRightToRead(t *testing.T) {
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
			settings, _ := ruled(t, test.rights...)
			_, err := kafka.New(quick(nil)).Subscribe(t.Context(), settings("in", "readers"), annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "a secret")
		})
	}
}

func TestBroker_Subscribe_reportsAMissingRightToDescribe(t *testing.T) {
	settings, _ := ruled(t)
	_, err := kafka.New(quick(nil)).Connect(t.Context(), settings("out", ""), annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	require.ErrorContains(t, err, `connect to topic "out": annotate: broker unavailable: the user has no right to the topic`)
}

// ruler can change the rights of eve, whose group is "readers".
type ruler struct {
	*kgo.Client
	cluster *kafkatest.Cluster
}

// ruled starts a cluster with the topics "in" and "out" and a user "eve" with these
// rights. The ruler can change them.
func ruled(t *testing.T, rights ...kfake.ACL) (func(topic, group string) annotate.Topic, *ruler) {
	cluster := kafkatest.Embedded(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "in", "out"),
		kfake.Superuser(kafka.Plain, "root", "a key"), kfake.User(kafka.Plain, "eve", "a secret", rights...))
	root, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()), kgo.SASL(plain.Auth{User: "root", Pass: "a key"}.AsMechanism()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	t.Cleanup(root.Close)
	return func(topic, group string) annotate.Topic {
		settings := cluster.Settings(topic, group)
		kafkatest.Change(&settings, func(k *kafka.Settings) { k.User, k.Password = "eve", "a secret" })
		return settings
	}, &ruler{root, cluster}
}

// allow gives eve a right to a topic.
func (r *ruler) allow(t *testing.T, topic string, operation kmsg.ACLOperation) {
	rule := kmsg.NewCreateACLsRequestCreation()
	rule.ResourceType = kmsg.ACLResourceTypeTopic
	rule.ResourceName = topic
	rule.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
	rule.Principal = "User:eve"
	rule.Host = "*"
	rule.Operation = operation
	rule.PermissionType = kmsg.ACLPermissionTypeAllow
	request := kmsg.NewPtrCreateACLsRequest()
	request.Creations = append(request.Creations, rule)
	r.cluster.Still("readers", r.Client, func() {
		response, err := request.RequestWith(t.Context(), r)
		require.NoError(t, err)
		require.NoError(t, kerr.ErrorForCode(response.Results[0].ErrorCode))
	})
}

// deny takes every right to a topic away from eve.
func (r *ruler) deny(t *testing.T, topic string) {
	filter := kmsg.NewDeleteACLsRequestFilter()
	filter.ResourceType, filter.ResourceName = kmsg.ACLResourceTypeTopic, &topic
	filter.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
	filter.Operation, filter.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	request := kmsg.NewPtrDeleteACLsRequest()
	request.Filters = append(request.Filters, filter)
	r.cluster.Still("readers", r.Client, func() {
		response, err := request.RequestWith(t.Context(), r)
		require.NoError(t, err)
		require.NoError(t, kerr.ErrorForCode(response.Results[0].ErrorCode))
		require.NotEmpty(t, response.Results[0].MatchingACLs)
	})
}

// offset is what the group has on record of the first partition of a topic,
// negative if nothing.
func (r *ruler) offset(t *testing.T, topic string) int64 {
	t.Helper()
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = "readers"
	request.Topics = append(request.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{0}})
	request.Groups = append(request.Groups, kmsg.OffsetFetchRequestGroup{
		Group: "readers", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}},
	})
	response, err := request.RequestWith(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(response.ErrorCode))
	if len(response.Groups) > 0 {
		return response.Groups[0].Topics[0].Partitions[0].Offset
	}
	return response.Topics[0].Partitions[0].Offset
}

// A right that is missing is not a fault of a message: none is given up, they
// wait until it is granted.
func TestBroker_Connect_messagesWaitForTheRightToWrite(t *testing.T) {
	for name, granted := range map[string]bool{"granted later": true, "never granted": false} {
		t.Run(name, func(t *testing.T) {
			settings, root := ruled(t,
				may(kmsg.ACLResourceTypeTopic, "out", kmsg.ACLOperationDescribe),
				may(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationIdempotentWrite))
			pub, err := kafka.New(quick(nil)).Connect(t.Context(), settings("out", ""), annotate.ConnectOptions{})
			require.NoError(t, err)
			confirmed := make(chan error, 1)
			require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte("x")}, func(err error) { confirmed <- err }))
			var trouble error
			require.Eventually(t, func() bool { trouble = pub.Health(); return trouble != nil }, patience, time.Millisecond)
			require.ErrorContains(t, trouble, `connection to topic "out": annotate: broker unavailable: the user has no right to the topic`)
			require.Empty(t, confirmed)
			if granted {
				root.allow(t, "out", kmsg.ACLOperationWrite)
				require.NoError(t, <-confirmed)
				require.NoError(t, pub.Close(t.Context()))
				return
			}
			soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.ErrorContains(t, pub.Close(soon), "1 messages unconfirmed")
			require.ErrorIs(t, <-confirmed, annotate.ErrBrokerClosed)
		})
	}
}

func TestBroker_Transact_waitsForTheRightToWrite(t *testing.T) {
	settings, root := ruled(t,
		may(kmsg.ACLResourceTypeTopic, "in", kmsg.ACLOperationRead),
		may(kmsg.ACLResourceTypeGroup, "readers", kmsg.ACLOperationRead),
		may(kmsg.ACLResourceTypeTopic, "out", kmsg.ACLOperationDescribe),
		may(kmsg.ACLResourceTypeTransactionalId, "annotator/readers/in/out/", kmsg.ACLOperationWrite))
	for _, text := range []string{"1", "2", "3"} {
		require.NoError(t, root.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte(text)}).FirstErr())
	}
	sub, pub, err := kafka.New(quick(nil)).Transact(t.Context(), settings("in", "readers"), settings("out", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); pass(ctx, sub, pub) }()
	var trouble error
	require.Eventually(t, func() bool { trouble = pub.Health(); return trouble != nil }, patience, time.Millisecond)
	// The library keeps the cluster's reason to itself.
	require.ErrorContains(t, trouble, `connection to topic "out": annotate: broker unavailable: commit a transaction`)
	root.allow(t, "out", kmsg.ACLOperationWrite)
	root.AddConsumeTopics("out")
	var values []string
	for len(values) < 3 {
		fetches := root.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	require.Equal(t, []string{"1", "2", "3"}, values)
	cancel()
	<-ended
	require.NoError(t, pub.Close(t.Context()))
	require.NoError(t, sub.Close(t.Context()))
}

func TestBroker_Subscribe_reportsARevokedRightAndLosesNothing(t *testing.T) {
	settings, root := ruled(t,
		may(kmsg.ACLResourceTypeTopic, "in", kmsg.ACLOperationRead),
		may(kmsg.ACLResourceTypeGroup, "readers", kmsg.ACLOperationRead))
	sub, err := kafka.New(quick(nil)).Subscribe(t.Context(), settings("in", "readers"), annotate.ConnectOptions{})
	require.NoError(t, err)
	require.NoError(t, root.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("1")}).FirstErr())
	d, err := sub.Receive(t.Context())
	require.NoError(t, err)
	d.Ack()
	require.Eventually(t, func() bool { return root.offset(t, "in") == 1 }, patience, 5*time.Millisecond)
	root.deny(t, "in")
	var trouble error
	require.Eventually(t, func() bool { trouble = sub.Health(); return trouble != nil }, patience, 5*time.Millisecond)
	require.ErrorContains(t, trouble, `subscription of topic "in" in group "readers"`)
	require.ErrorContains(t, trouble, "the user has no right to the topic")
	require.NoError(t, root.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("2")}).FirstErr())
	root.allow(t, "in", kmsg.ACLOperationRead)
	d, err = sub.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2", string(d.Payload))
	d.Ack()
	require.Eventually(t, func() bool { return sub.Health() == nil }, patience, 5*time.Millisecond)
	require.NoError(t, sub.Close(t.Context()))
}

func TestBroker_Subscribe_receivesRecordsWithoutKeyOrValue(t *testing.T) {
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
func TestBroker_Connect_writesNoTombstoneForAnEmptyMessage(t *testing.T) {
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
// not be committed before it is recorded that an earlier one has none: a
// process that died in between would find the later one uncommitted, and repeat
// its output.
func TestBroker_Transact_commitsNothingPastARefusedOutput(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("in", 1, 0)
	cluster.Topic("out", 1, 10_000)
	source, err := kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings("in", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, text := range []string{"a", "large", "b", "c"} {
		require.NoError(t, source.Publish(t.Context(), annotate.Message{Payload: []byte(text)}, func(error) {}))
	}
	require.NoError(t, source.Close(t.Context()))
	sub, pub, err := kafka.New(quick(nil)).Transact(t.Context(), cluster.Settings("in", "group"), cluster.Settings("out",
		""), annotate.ConnectOptions{})
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
	require.Eventually(t, func() bool { return committed(cluster, "out", 1) == 3 }, patience, 10*time.Millisecond)
	require.NoError(t, pub.Close(t.Context()))
	require.NoError(t, sub.Close(t.Context()))
}

func TestBroker_Connect_leavesNothingBehindAfterAnEarlyClose(t *testing.T) {
	cluster := kafkatest.Embedded(t, kfake.SeedTopics(1, "topic"))
	cable := mqtttest.NewProxy(t, cluster.Address)
	broker := kafka.New(quick(cable))
	closeAtOnce := func() {
		pub, err := broker.Connect(t.Context(), cluster.Settings("topic", ""), annotate.ConnectOptions{})
		require.NoError(t, err)
		require.NoError(t, pub.Close(t.Context()))
	}
	closeAtOnce()
	before := runtime.NumGoroutine()
	const count = 20
	for range count {
		closeAtOnce()
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() < before+count }, patience, 10*time.Millisecond)
}
