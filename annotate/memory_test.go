package annotate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func ExampleNewMemoryBroker() {
	ctx := context.Background()
	broker := annotate.NewMemoryBroker(nil)
	topic := annotate.Topic{Name: "weather/raw", Broker: annotate.Memory, Settings: annotate.MemorySettings{Name: "station-7"}}

	sub, err := broker.Subscribe(ctx, topic, annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pub, err := broker.Connect(ctx, topic, annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = pub.Publish(ctx, annotate.Message{Topic: "weather/raw", Payload: []byte("21.5")}, func(err error) {})
	if err != nil {
		fmt.Println(err)
		return
	}
	delivery, err := sub.Receive(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s\n", delivery.Topic, delivery.Payload)
	delivery.Ack()
	fmt.Println("close:", errors.Join(pub.Close(ctx), sub.Close(ctx)))
	// Output:
	// weather/raw: 21.5
	// close: <nil>
}

func memoryTopic(topic, client string) annotate.Topic {
	return annotate.Topic{Name: topic, Broker: annotate.Memory, Settings: annotate.MemorySettings{Name: client}}
}

func TestMemoryBroker_keepsMessagesForAnAbsentSubscriber(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	topic := memoryTopic("in", "c1")
	sub, err := b.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "in", Payload: []byte("1")}))
	_, err = sub.Receive(t.Context()) // never acknowledged
	require.NoError(t, err)
	require.NoError(t, sub.Close(t.Context()))
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "in", Payload: []byte("2")}))
	require.Equal(t, 2, b.Unacknowledged(topic))

	sub, err = b.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	for _, want := range []string{"1", "2"} {
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, string(d.Payload))
		d.Ack()
	}
	require.Zero(t, b.Unacknowledged(topic))
}

func TestMemoryBroker_fullBacklog_blocksPublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := annotate.NewMemoryBroker(&annotate.MemoryOptions{Backlog: 2})
		sub, err := b.Subscribe(t.Context(), memoryTopic("in", "c1"), annotate.ConnectOptions{})
		require.NoError(t, err)
		pub, err := b.Connect(t.Context(), memoryTopic("in", ""), annotate.ConnectOptions{Window: 8})
		require.NoError(t, err)
		confirmed := make(chan error, 8)
		for i := range 4 {
			require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte{byte(i)}}, func(err error) { confirmed <- err }))
		}
		synctest.Wait()
		require.Len(t, confirmed, 2)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, b.Publish(ctx, annotate.Message{Topic: "in"}), context.Canceled)

		for i := range 4 {
			d, err := sub.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, []byte{byte(i)}, d.Payload)
			d.Ack()
		}
		require.NoError(t, pub.Close(t.Context()))
		require.Len(t, confirmed, 4)
	})
}

func TestMemoryBroker_FailConfirmations_storesNothing(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	pub, err := b.Connect(t.Context(), memoryTopic("out", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	quota := errors.New("quota exceeded")
	b.FailConfirmations(quota)
	confirmed := make(chan error, 2)
	require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte("1")}, func(err error) { confirmed <- err }))
	require.ErrorIs(t, <-confirmed, quota)
	b.FailConfirmations(nil)
	require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte("2")}, func(err error) { confirmed <- err }))
	require.NoError(t, <-confirmed)
	require.NoError(t, pub.Close(t.Context()))
	require.Equal(t, []annotate.Message{{Topic: "out", Payload: []byte("2")}}, b.Messages("out"))
}

func TestMemoryBroker_Up_sendsUnconfirmedMessagesAgain(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	pub, err := b.Connect(t.Context(), memoryTopic("out", ""), annotate.ConnectOptions{})
	require.NoError(t, err)
	b.HoldConfirmations()
	confirmed := make(chan error, 1)
	require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte("1")}, func(err error) { confirmed <- err }))
	_, err = b.Await(t.Context(), "out", 1)
	require.NoError(t, err)
	require.Empty(t, confirmed)

	b.Down()
	require.ErrorIs(t, pub.Health(), annotate.ErrBrokerUnavailable)
	_, err = b.Connect(t.Context(), memoryTopic("out", ""), annotate.ConnectOptions{})
	require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
	b.Up()
	b.ReleaseConfirmations()
	require.NoError(t, pub.Close(t.Context()))
	require.NoError(t, <-confirmed)
	require.Len(t, b.Messages("out"), 2)
}

func TestMemoryBroker_Up_dropsEarlierAcknowledgements(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	topic := memoryTopic("in", "c1")
	sub, err := b.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "in", Payload: []byte("1")}))
	before, err := sub.Receive(t.Context())
	require.NoError(t, err)
	b.Down()
	b.Up()
	before.Ack()
	again, err := sub.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1", string(again.Payload))
	again.Ack()
	require.Zero(t, b.Unacknowledged(topic))
}

func TestMemoryBroker_wildcards_matchAsInMQTT(t *testing.T) {
	for _, c := range []struct {
		filter, topic string
		match         bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a", false}, {"a", "a/b", false},
		{"a/+", "a/b", true}, {"a/+", "a", false}, {"a/+", "a/", true}, {"a/+/c", "a/b/c", true},
		{"a/#", "a", true}, {"a/#", "a/b/c", true}, {"a/#", "ab", false},
		{"#", "a/b", true}, {"#", "$SYS/x", false}, {"+/x", "$SYS/x", false}, {"$SYS/#", "$SYS/x", true},
	} {
		b := annotate.NewMemoryBroker(nil)
		_, err := b.Subscribe(t.Context(), memoryTopic(c.filter, "c"), annotate.ConnectOptions{})
		require.NoError(t, err)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: c.topic}))
		require.Equal(t, c.match, b.Unacknowledged(memoryTopic(c.filter, "c")) == 1, "filter %s, topic %s", c.filter, c.topic)
	}
}

func TestMemoryBroker_Subscribe_takesASubscriptionOver(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	topic := memoryTopic("in", "c1")
	first, err := b.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	second, err := b.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	_, err = first.Receive(t.Context())
	require.ErrorContains(t, err, "taken over")
	require.NoError(t, first.Forget(t.Context()))
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "in", Payload: []byte("1")}))
	_, err = second.Receive(t.Context())
	require.NoError(t, err)
}
