package annotate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// exactlyOnce is a channel that publishes and acknowledges in one transaction.
func exactlyOnce(id string) annotate.ChannelConfig {
	c := withSideTopics(config(id))
	c.ExactlyOnce = true
	c.Input.Name = id + "-in"
	c.Output.Name = id + "-out"
	c.Error.Name = id + "-errors"
	return c
}

func TestChannel_exactlyOnce_repeatsNothingAfterOutages(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, exactlyOnce("once"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	const n = 2000
	for part := range 4 {
		publish(t, b, "once-in", part*n/4, (part+1)*n/4)
		await(t, b, "once-out", part*n/4+1)
		b.Down()
		b.Up()
	}
	require.Equal(t, triples(0, n), await(t, b, "once-out", n))
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	require.Equal(t, triples(0, n), texts(b.Messages("once-out")))
	// A transaction is committed before it is confirmed and counted.
	require.Eventually(t, func() bool { return channel.Stats().Published == n }, patience, time.Millisecond)
	stats := channel.Stats()
	require.Equal(t, stats.Received, stats.Published+stats.Revoked)
}

func TestChannel_exactlyOnce_repeatsNothingAfterARestart(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, exactlyOnce("again"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	publish(t, b, "again-in", 0, 1000)
	await(t, b, "again-out", 1)
	require.NoError(t, channel.Stop(t.Context()))
	require.NoError(t, channel.Start(t.Context()))
	require.Equal(t, triples(0, 1000), await(t, b, "again-out", 1000))
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	require.Len(t, b.Messages("again-out"), 1000)
}

func TestChannel_exactlyOnce_reportsAFailureBeforeLaterOutputs(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := exactlyOnce("failing")
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	b.HoldConfirmations() // the error report is not confirmed, the outputs not committed
	for i := range 20 {
		payload := fmt.Sprintf(`{"id": %d, "value": "v%d"}`, i, i)
		if i == 5 {
			payload = "{"
		}
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "failing-in", Payload: []byte(payload)}))
	}
	await(t, b, "failing-errors", 1)
	require.Empty(t, b.Messages("failing-out"))
	require.Equal(t, 20, b.Unacknowledged(channel.Config().Input))
	b.ReleaseConfirmations()
	want := append(triples(0, 5), triples(6, 20)...)
	require.Equal(t, want, await(t, b, "failing-out", 19))
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	require.Len(t, b.Messages("failing-errors"), 1)
	require.EqualValues(t, 1, channel.Stats().Failed)
}

func TestNewChannel_exactlyOnce_needsOneBrokerWithTransactions(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.Drivers = append(env.Drivers, other(b))
	env.Drivers[1].ExactlyOnce = false
	for about, change := range map[string]func(*annotate.ChannelConfig){
		"another kind of input":  func(c *annotate.ChannelConfig) { c.Input.Broker = otherType },
		"another kind of output": func(c *annotate.ChannelConfig) { c.Output.Broker = otherType },
		"the same topic":         func(c *annotate.ChannelConfig) { c.Output.Name = c.Input.Name },
	} {
		c := exactlyOnce("needs")
		change(&c)
		_, err := annotate.NewChannel(c, env)
		var field *annotate.FieldError
		require.ErrorAs(t, err, &field, about)
		require.Equal(t, "settings.exactlyOnce", field.Field, about)
	}
	type plain struct{ annotate.Broker }
	_, err := annotate.NewChannel(exactlyOnce("needs"), environment(plain{b}))
	require.ErrorContains(t, err, "settings.exactlyOnce: annotate: this driver of MEMORY has no transactions")
}

func TestNewChannel_distributed_needsADriverThatSupportsIt(t *testing.T) {
	c := config("everywhere")
	c.Distributed = true
	_, err := annotate.NewChannel(c, environment(annotate.NewMemoryBroker(nil)))
	require.ErrorContains(t, err, "settings.distributed: is not possible with an input topic of the in-memory broker")
}
