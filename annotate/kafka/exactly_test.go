package kafka_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// fill writes the numbers from..end to a topic, under keys that repeat.
func fill(t *testing.T, cluster *kafkatest.Cluster, topic string, from, end int) {
	t.Helper()
	p, err := kafka.New(quick(nil)).Connect(t.Context(), cluster.Settings(topic, ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	for n := from; n < end; n++ {
		m := annotate.Message{Key: []byte("k" + strconv.Itoa(n%7)), Payload: []byte(strconv.Itoa(n))}
		require.NoError(t, p.Publish(t.Context(), m, func(err error) {
			if err != nil {
				t.Errorf("confirmed with %v", err)
			}
		}))
	}
	require.NoError(t, p.Close(t.Context()))
}

// pass answers inputs until ctx ends. It leaves the ends open.
func pass(ctx context.Context, sub annotate.Subscription, pub annotate.Publisher) {
	for {
		d, err := sub.Receive(ctx)
		if err != nil {
			return
		}
		if d.Revoked() {
			continue
		}
		m := annotate.Message{Key: d.Key, Payload: d.Payload, Origin: d.Origin}
		if pub.Publish(ctx, m, func(err error) {
			if err == nil {
				d.Ack()
			}
		}) != nil {
			return
		}
	}
}

// requireEachOnce demands that every number was committed once, in the order
// of its key.
func requireEachOnce(t *testing.T, cluster *kafkatest.Cluster, topic string, partitions, count int) {
	t.Helper()
	times := map[int]int{}
	last := map[string]int{}
	for _, r := range cluster.Committed(topic, partitions) {
		n, err := strconv.Atoi(string(r.Value))
		require.NoError(t, err)
		times[n]++
		require.Equal(t, 1, times[n], "number %d in partition %d at offset %d", n, r.Partition, r.Offset)
		if before, ok := last[string(r.Key)]; ok {
			require.Greater(t, n, before, "order of key %s", r.Key)
		}
		last[string(r.Key)] = n
	}
	require.Len(t, times, count)
}

// committed counts what readers of committed messages have.
func committed(cluster *kafkatest.Cluster, topic string, partitions int) int {
	return len(cluster.Committed(topic, partitions))
}

func TestBroker_Transact_commitsEachOutputOnceDespiteOutages(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cable := mqtttest.NewProxy(t, cluster.Address)
	cluster.Topic("in", 3, 0)
	cluster.Topic("out", 2, 0)
	const count = 2000
	fill(t, cluster, "in", 0, count)
	options := quick(cable)
	options.TransactionMessages = 50
	sub, pub, err := kafka.New(options).Transact(t.Context(), cluster.Settings("in", "group"), cluster.Settings("out",
		""), annotate.ConnectOptions{Window: 64})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); pass(ctx, sub, pub) }()
	for part := 1; part <= 4; part++ {
		require.Eventually(t, func() bool { return committed(cluster, "out", 2) >= part*count/5 }, patience, 10*time.Millisecond)
		cable.Interrupt()
	}
	require.Eventually(t, func() bool { return committed(cluster, "out", 2) >= count }, patience, 10*time.Millisecond)
	cancel()
	<-ended
	require.NoError(t, pub.Close(t.Context()))
	require.NoError(t, sub.Close(t.Context()))
	requireEachOnce(t, cluster, "out", 2, count)
}

func TestBroker_Transact_commitsWhatAKilledProcessLeft(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("in", 3, 0)
	cluster.Topic("out", 2, 0)
	const count = 1500
	fill(t, cluster, "in", 0, count)
	for life := 1; ; life++ {
		cable := mqtttest.NewProxy(t, cluster.Address)
		options := quick(cable)
		options.TransactionMessages = 40
		sub, pub, err := kafka.New(options).Transact(t.Context(), cluster.Settings("in", "group"), cluster.Settings("out",
			""), annotate.ConnectOptions{Window: 64})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); pass(ctx, sub, pub) }()
		goal := min(count, life*count/4)
		require.Eventually(t, func() bool { return committed(cluster, "out", 2) >= goal }, patience, 5*time.Millisecond,
			fmt.Sprint("life ", life))
		if goal < count {
			cable.Cut() // as good as dead: it can say nothing any more
		}
		cancel()
		<-ended
		soon, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, _ = pub.Close(soon), sub.Close(soon)
		stop()
		if goal == count {
			break
		}
		removeAll(t, cluster, "group")
	}
	requireEachOnce(t, cluster, "out", 2, count)
}
