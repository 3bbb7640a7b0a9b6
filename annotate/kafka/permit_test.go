package kafka_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

var errNotNow = errors.New("another process may have it")

// permit permits until it is held.
type permit struct{ held atomic.Bool }

func (p *permit) options(member string) annotate.ConnectOptions {
	return annotate.ConnectOptions{Member: member, Permit: func() error {
		if p.held.Load() {
			return errNotNow
		}
		return nil
	}}
}

// A process that stood still does not take its place in the group back.
func TestSubscription_withoutPermit_joinsNoMore(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("topic", 1, 0)
	cable := mqtttest.NewProxy(t, cluster.Address)
	var may permit
	sub, err := kafka.New(quick(cable)).Subscribe(t.Context(), cluster.Settings("topic", "group"), may.options("channel"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close(t.Context()) })
	may.held.Store(true)
	cable.Cut()
	require.Eventually(t, func() bool { return sub.Health() != nil }, patience, 10*time.Millisecond)
	cable.Restore()
	require.Eventually(t, func() bool { return errors.Is(sub.Health(), errNotNow) }, patience, 10*time.Millisecond)

	next, err := patient().Subscribe(t.Context(), cluster.Settings("topic", "group"), annotate.ConnectOptions{Member: "channel"})
	require.NoError(t, err)
	fill(t, cluster, "topic", 0, 10)
	for range 10 {
		d, err := next.Receive(t.Context())
		require.NoError(t, err)
		d.Ack()
	}
	require.NoError(t, next.Close(t.Context()))

	may.held.Store(false)
	require.Eventually(t, func() bool { return sub.Health() == nil }, patience, 10*time.Millisecond)
}

func TestBroker_withoutPermit_takesNothingOver(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("in", 1, 0)
	cluster.Topic("out", 1, 0)
	broker := kafka.New(quick(nil))
	in, out := cluster.Settings("in", "group"), cluster.Settings("out", "")
	var may permit
	sub, pub, err := broker.Transact(t.Context(), in, out, may.options("channel"))
	require.NoError(t, err)
	answer := func(n int) {
		fill(t, cluster, "in", n, n+1)
		d, err := sub.Receive(t.Context())
		require.NoError(t, err)
		confirmed := make(chan error, 1)
		m := annotate.Message{Payload: d.Payload, Origin: d.Origin}
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) { confirmed <- err }))
		require.NoError(t, <-confirmed)
		d.Ack()
	}
	answer(0)
	var late permit
	late.held.Store(true)
	_, _, err = broker.Transact(t.Context(), in, out, late.options("channel"))
	require.ErrorIs(t, err, errNotNow)
	_, err = broker.Subscribe(t.Context(), in, late.options("channel"))
	require.ErrorIs(t, err, errNotNow)
	answer(1) // by the same producer and member as before
	require.Equal(t, uint64(0), sub.(interface{ Reconnects() uint64 }).Reconnects())
	require.NoError(t, pub.Close(t.Context()))
	require.NoError(t, sub.Close(t.Context()))
	require.Equal(t, 2, committed(cluster, "out", 1))
}

// A successor with the place and the transactional id ends what its predecessor has begun.
func TestBroker_Transact_fencesAStaticMember(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	cluster.Topic("in", 1, 0)
	cluster.Topic("out", 1, 0)
	in, out := cluster.Settings("in", "group"), cluster.Settings("out", "")
	fill(t, cluster, "in", 0, 1)
	member := annotate.ConnectOptions{Member: "channel"}
	first, firstOut, err := patient().Transact(t.Context(), in, out, member)
	require.NoError(t, err)
	left, err := first.Receive(t.Context())
	require.NoError(t, err)

	second, secondOut, err := patient().Transact(t.Context(), in, out, member)
	require.NoError(t, err)
	publish := func(pub annotate.Publisher, d annotate.Delivery) error {
		confirmed := make(chan error, 1)
		m := annotate.Message{Payload: d.Payload, Origin: d.Origin}
		require.NoError(t, pub.Publish(t.Context(), m, func(err error) { confirmed <- err }))
		return <-confirmed
	}
	d, err := second.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, left.Payload, d.Payload)
	require.NoError(t, publish(secondOut, d))
	d.Ack()
	require.Error(t, publish(firstOut, left))
	for _, end := range []func() error{
		func() error { return firstOut.Close(t.Context()) }, func() error { return first.Close(t.Context()) },
		func() error { return secondOut.Close(t.Context()) }, func() error { return second.Close(t.Context()) },
	} {
		require.NoError(t, end())
	}
	require.Equal(t, 1, committed(cluster, "out", 1))
}
