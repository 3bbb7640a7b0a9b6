package kafka_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
)

func TestBroker_carriesTracesInHeaders(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 1, 0)
	broker := kafka.New(quick(nil))
	sub, err := broker.Subscribe(t.Context(), cluster.Settings("topic", "group"), annotate.ConnectOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close(t.Context()) })
	pub, err := broker.Connect(t.Context(), cluster.Settings("topic", "group"), annotate.ConnectOptions{})
	require.NoError(t, err)
	trace := annotate.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "vendor=1"}
	for _, carried := range []annotate.Trace{trace, {}, {Parent: trace.Parent}} {
		confirmed := make(chan error, 1)
		m := annotate.Message{Payload: []byte("x"), Trace: carried}
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) { confirmed <- err }))
		require.NoError(t, <-confirmed)
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, carried, d.Trace)
	}
	require.NoError(t, pub.Close(t.Context()))

	records := cluster.Committed("topic", 1)
	require.Len(t, records, 3)
	require.Equal(t, []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte(trace.Parent)}, {Key: "tracestate", Value: []byte(trace.State)},
	}, records[0].Headers)
	require.Empty(t, records[1].Headers)
}

func TestSubscription_Receive_dropsMalformedTraces(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 1, 0)
	sub, err := kafka.New(quick(nil)).Subscribe(t.Context(), cluster.Settings("topic", "group"), annotate.ConnectOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close(t.Context()) })
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.String()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		headers []kgo.RecordHeader
		want    annotate.Trace
	}{
		{[]kgo.RecordHeader{{Key: "traceparent", Value: []byte(strings.Repeat("x", 100_000))}}, annotate.Trace{}},
		{[]kgo.RecordHeader{{Key: "traceparent"}, {Key: "tracestate", Value: []byte("a=b")}}, annotate.Trace{}},
		{[]kgo.RecordHeader{{Key: "tracestate", Value: []byte("a=b")}}, annotate.Trace{}},
		{[]kgo.RecordHeader{{Key: "other"}, {Key: "traceparent", Value: []byte(parent)}, {Key: "tracestate", Value: []byte("a=\x00")}},
			annotate.Trace{Parent: parent}},
	} {
		record := &kgo.Record{Topic: "topic", Value: []byte("x"), Headers: c.headers}
		require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, "x", string(d.Payload))
		require.Equal(t, c.want, d.Trace)
	}
}

// A trace never makes a message fail that the cluster takes without.
func TestPublisher_Publish_leavesOutTheTraceOfAMessageThatItMakesTooLarge(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("in", 1, 0)
	cluster.Topic("topic", 1, 10_000)
	trace := annotate.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: strings.Repeat("x", 1000)}
	plain, err := kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings("topic", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	sub, exact, err := kafka.New(quick(nil)).Transact(t.Context(), cluster.Settings("in", "group"), cluster.Settings("topic", ""),
		annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, pub := range []annotate.Publisher{plain, exact} {
		for _, size := range []int{8_000, 9_500} {
			confirmed := make(chan error, 1)
			m := annotate.Message{Payload: make([]byte, size), Trace: trace}
			require.NoError(t, pub.Publish(t.Context(), m, func(err error) { confirmed <- err }))
			require.NoError(t, <-confirmed)
		}
		require.NoError(t, pub.Close(t.Context()))
	}
	require.NoError(t, sub.Close(t.Context()))
	records := cluster.Committed("topic", 1)
	require.Len(t, records, 4)
	for n, headers := range []int{2, 0, 2, 0} {
		require.Len(t, records[n].Headers, headers)
	}
}
