package kafka_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// witness notes which numbers came, and in which order for each key.
type witness struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[int]bool
	last map[string]int
}

func newWitness(t *testing.T) *witness {
	return &witness{t: t, seen: map[int]bool{}, last: map[string]int{}}
}

func (w *witness) note(d annotate.Delivery) {
	n, _ := strconv.Atoi(string(d.Payload))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[n] {
		return
	}
	if before, ok := w.last[string(d.Key)]; ok && before > n {
		w.t.Errorf("number %d of key %s came for the first time after %d", n, d.Key, before)
	}
	w.seen[n], w.last[string(d.Key)] = true, n
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// read acknowledges what comes until ctx ends.
func (w *witness) read(ctx context.Context, sub annotate.Subscription) {
	for {
		d, err := sub.Receive(ctx)
		if err != nil {
			return
		}
		if d.Revoked() {
			continue
		}
		w.note(d)
		d.Ack()
	}
}

func TestBroker_Subscribe_sharesMessagesAmongMembersAndLosesNone(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 4, 0)
	const count = 3000
	fill(t, cluster, "topic", 0, count/3)
	broker := kafka.New(quick(nil))
	w := newWitness(t)
	var readers sync.WaitGroup
	join := func() (annotate.Subscription, context.CancelFunc) {
		sub, err := broker.Subscribe(t.Context(), cluster.Settings("topic", "group"), annotate.ConnectOptions{Window: 32})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		readers.Go(func() { w.read(ctx, sub) })
		return sub, cancel
	}
	first, stopFirst := join()
	second, stopSecond := join()
	fill(t, cluster, "topic", count/3, 2*count/3)
	stopFirst()
	require.NoError(t, first.Close(t.Context()))
	fill(t, cluster, "topic", 2*count/3, count)
	require.Eventually(t, func() bool { return w.count() == count }, patience, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		lag, known := second.(interface{ Lag() (int64, bool) }).Lag()
		return known && lag == 0
	}, patience, 10*time.Millisecond)
	stopSecond()
	readers.Wait()
	require.NoError(t, second.Close(t.Context()))
}

func TestBroker_Subscribe_waitsForAcknowledgementsInARebalance(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 2, 0)
	fill(t, cluster, "topic", 0, 50)
	broker := kafka.New(quick(nil))
	settings := cluster.Settings("topic", "group")
	first, err := broker.Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	var held []annotate.Delivery
	for range 20 {
		d, err := first.Receive(t.Context())
		require.NoError(t, err)
		held = append(held, d)
	}
	joined := make(chan annotate.Subscription, 1)
	go func() {
		second, err := broker.Subscribe(t.Context(), settings, annotate.ConnectOptions{})
		if err != nil {
			t.Error(err)
		}
		joined <- second
	}()
	var second annotate.Subscription
	select {
	case second = <-joined: // on a slow machine: a subscription opens after a while without partitions
		require.ErrorIs(t, second.Health(), annotate.ErrBrokerUnavailable,
			"the second member has partitions while the first works on their messages")
	case <-time.After(300 * time.Millisecond):
	}
	for _, d := range held {
		require.False(t, d.Revoked())
		d.Ack()
	}
	if second == nil {
		second = <-joined
	}
	require.Eventually(t, func() bool { return second.Health() == nil }, patience, 10*time.Millisecond)
	w := newWitness(t)
	for _, d := range held {
		require.True(t, d.Revoked())
		w.note(d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for _, sub := range []annotate.Subscription{first, second} {
		readers.Go(func() {
			for {
				d, err := sub.Receive(ctx)
				if err != nil {
					return
				}
				n := w.count()
				w.note(d)
				if w.count() == n && !d.Revoked() {
					t.Errorf("%s came again", d.Payload)
				}
				d.Ack()
			}
		})
	}
	require.Eventually(t, func() bool { return w.count() == 50 }, patience, 10*time.Millisecond)
	cancel()
	readers.Wait()
	require.NoError(t, first.Close(t.Context()))
	require.NoError(t, second.Close(t.Context()))
}

func TestBroker_Subscribe_losesNothingInACrashWithLatest(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 1, 0)
	fill(t, cluster, "topic", 0, 5)
	cable := mqtttest.NewProxy(t, cluster.Address)
	settings := cluster.Settings("topic", "group")
	kafkatest.Change(&settings, func(k *kafka.Settings) { k.OffsetReset = kafka.Latest })
	sub, err := kafka.New(quick(cable)).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	cable.Cut() // before anything came
	require.NoError(t, sub.Close(t.Context()))
	removeAll(t, cluster, "group")
	fill(t, cluster, "topic", 5, 10)
	cluster.Grow("topic", 2)

	sub, err = kafka.New(quick(nil)).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	for n := 5; n < 10; n++ {
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(n), string(d.Payload))
		d.Ack()
	}
	require.NoError(t, sub.Close(t.Context()))
}

func TestBroker_Subscribe_readsAddedPartitionsFromTheStart(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 1, 0)
	settings := cluster.Settings("topic", "group")
	kafkatest.Change(&settings, func(k *kafka.Settings) { k.OffsetReset = kafka.Latest })
	broker := kafka.New(quick(nil))
	sub, err := broker.Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	require.NoError(t, sub.Close(t.Context()))
	cluster.Grow("topic", 3)
	fill(t, cluster, "topic", 0, 60)
	sub, err = broker.Subscribe(t.Context(), settings, annotate.ConnectOptions{})
	require.NoError(t, err)
	w := newWitness(t)
	for range 60 {
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		w.note(d)
		d.Ack()
	}
	require.Equal(t, 60, w.count())
	require.NoError(t, sub.Close(t.Context()))
}
