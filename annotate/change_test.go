package annotate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func TestChannel_SetConfig_goesOnWithWhatWaits(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, withSideTopics(config("c")), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	require.NoError(t, channel.SetTopics(t.Context(), annotate.OptionalTopics{Error: true, MonitorInput: true}))
	next := channel.Config()
	next.Output.Name = "c/other"
	next.Parallelism = 7
	next.MonitorInput = nil
	require.ErrorContains(t, channel.SetConfig(t.Context(), next), "channel runs")
	require.NoError(t, channel.Stop(t.Context()))
	publish(t, b, "c/in", 0, 3)
	require.True(t, channel.KeepsSubscription(next))
	require.NoError(t, channel.SetConfig(t.Context(), next))
	require.Equal(t, annotate.OptionalTopics{Error: true}, channel.Config().Off, "switches stay where there is a topic")
	require.NoError(t, channel.Start(t.Context()))
	require.Equal(t, triples(0, 3), await(t, b, "c/other", 3))
	require.Equal(t, 7, channel.Config().Parallelism)
}

func TestChannel_SetConfig_changesNothingOnErrors(t *testing.T) {
	channel := newChannel(t, config("c"), environment(annotate.NewMemoryBroker(nil)))
	before := channel.Config()
	for _, change := range []func(c *annotate.ChannelConfig){
		func(c *annotate.ChannelConfig) { c.ID = "other" },
		func(c *annotate.ChannelConfig) { c.Parallelism = 1000 },
		func(c *annotate.ChannelConfig) { c.Mapping.RML = "x" },
	} {
		next := before.Clone()
		change(&next)
		require.Error(t, channel.SetConfig(t.Context(), next))
		require.Equal(t, before, channel.Config())
	}
	moved := before.Clone()
	moved.Input.Name = "elsewhere"
	require.False(t, channel.KeepsSubscription(moved))
	require.NoError(t, channel.Close())
	require.ErrorIs(t, channel.SetConfig(t.Context(), before), annotate.ErrClosed)
}

func TestChannel_Failures_areTheNewest(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("f"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	require.Empty(t, channel.Failures())
	const n = 25
	for i := range n {
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "f/in", Payload: fmt.Appendf(nil, `{"id": %d,`, i)}))
	}
	publish(t, b, "f/in", 0, 1)
	await(t, b, "f/out", 1)
	failures := channel.Failures()
	require.Len(t, failures, 20)
	for i, failure := range failures {
		require.Equal(t, uint64(n-i), failure.Number)
		require.Equal(t, fmt.Sprintf(`{"id": %d,`, n-1-i), string(failure.Payload))
		require.Equal(t, len(failure.Payload), failure.Bytes)
		require.Equal(t, annotate.JSON, failure.Format)
		require.Equal(t, "f/in", failure.Topic)
		require.Contains(t, failure.Place, "line 1 column")
		require.NotEmpty(t, failure.Reason)
		require.WithinDuration(t, time.Now(), failure.Time, patience)
	}
}

func TestChannel_Failures_areBounded(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("f"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	for range 12 {
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "f/in", Payload: []byte(strings.Repeat("x", 300<<10))}))
	}
	publish(t, b, "f/in", 0, 1)
	await(t, b, "f/out", 1)
	failures := channel.Failures()
	require.Len(t, failures, 8, "2 MiB of 256 KiB each")
	for _, failure := range failures {
		require.Len(t, failure.Payload, 256<<10)
		require.Equal(t, 300<<10, failure.Bytes)
	}
}

func TestEnvironment_TryConnection_disturbsNoChannel(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	channel := newChannel(t, config("c"), env)
	require.NoError(t, channel.Start(t.Context()))
	for _, topic := range channelTopics(channel) {
		require.NoError(t, env.TryConnection(t.Context(), *topic.Topic, topic.Role))
	}
	publish(t, b, "c/in", 0, 3)
	require.Equal(t, triples(0, 3), await(t, b, "c/out", 3))
	require.NoError(t, channel.Status().Err)
}

func channelTopics(c *annotate.Channel) []annotate.RoleTopic {
	config := c.Config()
	return config.Topics()
}

func TestEnvironment_TryConnection_saysWhatStartingAChannelSays(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	input := annotate.Topic{Name: "t", Broker: annotate.Memory}
	b.Down()
	require.ErrorIs(t, env.TryConnection(t.Context(), input, annotate.InputTopic), annotate.ErrBrokerUnavailable)
	require.ErrorIs(t, env.TryConnection(t.Context(), input, annotate.ErrorTopic), annotate.ErrBrokerUnavailable)
	var field *annotate.FieldError
	require.ErrorAs(t, env.TryConnection(t.Context(), annotate.Topic{Name: "t", Broker: "NONE"}, annotate.InputTopic), &field)
	require.ErrorAs(t, env.TryConnection(t.Context(), annotate.Topic{Name: "#", Broker: annotate.Memory}, annotate.OutputTopic), &field)
	require.Equal(t, "topic", field.Field)
}

// deafBroker never answers.
type deafBroker struct{ annotate.Broker }

func (deafBroker) Subscribe(ctx context.Context, _ annotate.Topic, _ annotate.ConnectOptions) (annotate.Subscription, error) {
	<-ctx.Done()
	return nil, errors.Join(annotate.ErrBrokerUnavailable, ctx.Err())
}

func TestEnvironment_TryConnection_endsInTime(t *testing.T) {
	env := environment(deafBroker{})
	env.ConnectTimeout = 10 * time.Millisecond
	err := env.TryConnection(t.Context(), annotate.Topic{Name: "t", Broker: annotate.Memory}, annotate.InputTopic)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
