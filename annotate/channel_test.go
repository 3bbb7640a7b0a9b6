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

// jsonMapping gives one statement for a message {"id": …, "value": …}.
const jsonMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix map: <http://example.com/map/> .
map:Observation a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.com/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.com/value> ; rr:objectMap [ rml:reference "value" ] ] .
`

// patience is how long a test waits for what must happen. It is long, for a
// busy machine is not a fault.
const patience = 2 * time.Minute

func config(id string) annotate.ChannelConfig {
	topic := func(name string) annotate.Topic {
		return annotate.Topic{Name: name, Broker: annotate.Memory}
	}
	return annotate.ChannelConfig{
		ID: id, Input: topic(id + "/in"), Output: topic(id + "/out"),
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: jsonMapping},
	}
}

// withSideTopics adds the optional topics, all on.
func withSideTopics(c annotate.ChannelConfig) annotate.ChannelConfig {
	topic := func(name string) *annotate.Topic {
		return &annotate.Topic{Name: c.ID + "/" + name, Broker: annotate.Memory}
	}
	c.Error = topic("errors")
	c.MonitorInput = topic("seen")
	c.MonitorOutput = topic("sent")
	return c
}

func environment(b annotate.Broker) annotate.Environment {
	return annotate.Environment{
		Drivers: []annotate.Driver{memory(b)},
	}
}

func newChannel(t *testing.T, c annotate.ChannelConfig, env annotate.Environment) *annotate.Channel {
	t.Helper()
	channel, err := annotate.NewChannel(c, env)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, channel.Close()) })
	return channel
}

func publish(t *testing.T, b *annotate.MemoryBroker, topic string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		payload := fmt.Appendf(nil, `{"id": %d, "value": "v%d"}`, i, i)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: topic, Payload: payload}))
	}
}

func await(t *testing.T, b *annotate.MemoryBroker, topic string, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	messages, err := b.Await(ctx, topic, n)
	require.NoError(t, err)
	return texts(messages)
}

func texts(messages []annotate.Message) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = string(m.Payload)
	}
	return texts
}

func triple(i int) string {
	return fmt.Sprintf("<http://example.com/%d> <http://example.com/value> \"v%d\" .\n", i, i)
}

func triples(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, triple(i))
	}
	return all
}

func unacknowledged(b *annotate.MemoryBroker, c *annotate.Channel) func() bool {
	return func() bool { return b.Unacknowledged(c.Config().Input) == 0 }
}

func TestChannel_parallelMappers_keepTheOrder(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := config("order")
	c.Parallelism = 4
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	publish(t, b, "order/in", 0, 3000)
	require.Equal(t, triples(0, 3000), await(t, b, "order/out", 3000))
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	stats := channel.Stats()
	require.EqualValues(t, 3000, stats.Received)
	require.EqualValues(t, 3000, stats.Published)
	require.Zero(t, stats.Failed)
}

func TestChannel_acknowledgesAfterTheOutputIsConfirmed(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("ack"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	b.HoldConfirmations()
	publish(t, b, "ack/in", 0, 10)
	await(t, b, "ack/out", 10)
	require.Equal(t, 10, b.Unacknowledged(channel.Config().Input))
	b.ReleaseConfirmations()
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
}

func TestChannel_brokerOutage_losesNothing(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("outage"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	publish(t, b, "outage/in", 0, 500)
	for range 3 {
		b.Down()
		require.ErrorContains(t, channel.Status().Err, "unavailable")
		require.False(t, channel.Status().Stopped)
		b.Up()
	}
	publish(t, b, "outage/in", 500, 1000)
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	seen := map[string]bool{}
	for _, text := range texts(b.Messages("outage/out")) {
		seen[text] = true
	}
	require.Len(t, seen, 1000)
	require.NoError(t, channel.Status().Err)
}

func TestChannel_Stop_drainsInFlight(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("drain"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	publish(t, b, "drain/in", 0, 2000)
	await(t, b, "drain/out", 100)
	require.NoError(t, channel.Stop(t.Context()))
	require.True(t, channel.Status().Stopped)
	// Whatever went out is acknowledged, so that together they are everything.
	require.Equal(t, 2000, len(b.Messages("drain/out"))+b.Unacknowledged(channel.Config().Input))
	require.NoError(t, channel.Start(t.Context()))
	require.Equal(t, triples(0, 2000), await(t, b, "drain/out", 2000))
}

func TestChannel_Stop_leavesUnconfirmedMessagesForRedelivery(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("late"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	b.HoldConfirmations()
	publish(t, b, "late/in", 0, 10)
	await(t, b, "late/out", 10)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, channel.Stop(ctx), "messages not finished in time, to be delivered again: 10")
	require.True(t, channel.Status().Stopped)
	require.Equal(t, 10, b.Unacknowledged(channel.Config().Input))
	b.ReleaseConfirmations()
	require.NoError(t, channel.Start(t.Context()))
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	require.Equal(t, triples(0, 10), texts(b.Messages("late/out"))[10:])
}

func TestChannel_Start_connectsAllTopicsOrNone(t *testing.T) {
	up, down := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
	down.Down()
	env := environment(down)
	env.Drivers = append(env.Drivers, other(up))
	c := config("half")
	c.Output = annotate.Topic{Name: "half-out", Broker: otherType}
	channel := newChannel(t, c, env)
	require.ErrorIs(t, channel.Start(t.Context()), annotate.ErrBrokerUnavailable)
	status := channel.Status()
	require.True(t, status.Stopped)
	require.ErrorContains(t, status.Err, "input")
	down.Up()
	require.NoError(t, channel.Start(t.Context()))
	require.NoError(t, channel.Status().Err)
}

func TestChannel_failedMessage_isReportedAndBlocksNothing(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	huge := `{"id": 1, "value": "` + strings.Repeat("x", 20<<20) + `"}`
	for name, bad := range map[string]struct{ payload, want string }{
		"not JSON": {"temperature=3", "Failure(rml.MessageError: "},
		"empty":    {"", "Failure("},
		"too deep": {deep, "nesting deeper than the limit of 256"},
		"20 MB":    {huge, "is larger than the limit of 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := annotate.NewMemoryBroker(nil)
			channel := newChannel(t, withSideTopics(config("bad")), environment(b))
			require.NoError(t, channel.Start(t.Context()))
			publish(t, b, "bad/in", 0, 1)
			require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "bad/in", Payload: []byte(bad.payload)}))
			publish(t, b, "bad/in", 1, 2)
			require.Equal(t, triples(0, 2), await(t, b, "bad/out", 2))
			require.Contains(t, await(t, b, "bad/errors", 1)[0], bad.want)
			require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
			stats := channel.Stats()
			require.EqualValues(t, 1, stats.Failed)
			require.EqualValues(t, 2, stats.Published)
			require.NotEmpty(t, stats.LastError)
		})
	}
}

func TestChannel_failedMessage_isAcknowledgedAfterItsReport(t *testing.T) {
	in, side := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
	env := environment(in)
	env.Drivers = append(env.Drivers, other(side))
	c := config("report")
	c.Error = &annotate.Topic{Name: "report-errors", Broker: otherType}
	channel := newChannel(t, c, env)
	require.NoError(t, channel.Start(t.Context()))
	side.HoldConfirmations()
	require.NoError(t, in.Publish(t.Context(), annotate.Message{Topic: "report/in", Payload: []byte("bad")}))
	publish(t, in, "report/in", 0, 1)
	await(t, side, "report-errors", 1)
	await(t, in, "report/out", 1)
	require.Equal(t, 2, in.Unacknowledged(channel.Config().Input))
	side.ReleaseConfirmations()
	require.Eventually(t, unacknowledged(in, channel), patience, time.Millisecond)
}

func TestChannel_SetTopics_freesAChannelThatWaitsForItsErrorTopic(t *testing.T) {
	in, side := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
	env := environment(in)
	env.Drivers = append(env.Drivers, other(side))
	c := config("toggle")
	c.Error = &annotate.Topic{Name: "toggle-errors", Broker: otherType}
	channel := newChannel(t, c, env)
	require.NoError(t, channel.Start(t.Context()))
	side.Down()
	for range 2 * annotate.DefaultWindow {
		require.NoError(t, in.Publish(t.Context(), annotate.Message{Topic: "toggle/in", Payload: []byte("bad")}))
	}
	publish(t, in, "toggle/in", 0, 1)
	require.Eventually(t, func() bool { return channel.Stats().Failed > 0 }, patience, time.Millisecond)
	off, on := annotate.OptionalTopics{Error: true}, annotate.OptionalTopics{}
	require.NoError(t, channel.SetTopics(t.Context(), off))
	require.Equal(t, triples(0, 1), await(t, in, "toggle/out", 1))
	require.Eventually(t, unacknowledged(in, channel), patience, time.Millisecond)
	require.True(t, channel.Status().Off.Error)

	require.ErrorIs(t, channel.SetTopics(t.Context(), on), annotate.ErrBrokerUnavailable)
	require.True(t, channel.Status().Off.Error)
	side.Up()
	require.NoError(t, channel.SetTopics(t.Context(), on))
	require.NoError(t, in.Publish(t.Context(), annotate.Message{Topic: "toggle/in", Payload: []byte("bad")}))
	await(t, side, "toggle-errors", 1)
}

func TestChannel_refusedOutput_isAFailedMessage(t *testing.T) {
	b, side := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.Drivers = append(env.Drivers, other(side))
	c := config("refused")
	c.Error = &annotate.Topic{Name: "refused-errors", Broker: otherType}
	channel := newChannel(t, c, env)
	require.NoError(t, channel.Start(t.Context()))
	b.FailConfirmations(errors.New("payload too large"))
	publish(t, b, "refused/in", 0, 1)
	require.Contains(t, await(t, side, "refused-errors", 1)[0], "payload too large")
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	b.FailConfirmations(nil)
	publish(t, b, "refused/in", 1, 2)
	require.Equal(t, triples(1, 2), await(t, b, "refused/out", 1))
	require.EqualValues(t, 1, channel.Stats().Failed)
}

func TestChannel_missingRightToPublish_stopsAndLosesNothing(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("denied"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	b.FailConfirmations(fmt.Errorf("not authorized: %w", annotate.ErrBrokerUnavailable))
	publish(t, b, "denied/in", 0, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.ErrorContains(t, channel.Wait(ctx), `publish to topic "denied/out": publish on topic "denied/out": not authorized`)
	require.True(t, channel.Status().Stopped)
	require.Equal(t, 3, b.Unacknowledged(channel.Config().Input))
	b.FailConfirmations(nil)
	require.NoError(t, channel.Start(t.Context()))
	require.Equal(t, triples(0, 3), await(t, b, "denied/out", 3))
	require.Zero(t, channel.Stats().Failed)
}

func TestChannel_monitors_noteMessagesWithoutBlocking(t *testing.T) {
	b, side := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.Drivers = append(env.Drivers, other(side))
	c := withSideTopics(config("watch"))
	c.MonitorOutput = &annotate.Topic{Name: "watch-sent", Broker: otherType}
	channel := newChannel(t, c, env)
	require.NoError(t, channel.Start(t.Context()))
	publish(t, b, "watch/in", 0, 1)
	require.Regexp(t, `^@watch/in:\d{13}$`, await(t, b, "watch/seen", 1)[0])
	require.Regexp(t, `^@watch/in:\d{13}$`, await(t, side, "watch-sent", 1)[0])
	side.Down()
	publish(t, b, "watch/in", 1, 2000)
	require.Equal(t, triples(0, 2000), await(t, b, "watch/out", 2000))
	require.Eventually(t, func() bool { return channel.Stats().NotesDropped > 0 }, patience, time.Millisecond)
}

func TestChannel_endOfSubscription_stopsWithTheReason(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := config("stolen")
	c.Input.Settings = annotate.MemorySettings{Name: "same"}
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	_, err := b.Subscribe(t.Context(), channel.Config().Input, annotate.ConnectOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, channel.Wait(t.Context()), `receive from topic "stolen/in"`)
	require.True(t, channel.Status().Stopped)
	require.ErrorContains(t, channel.Status().Err, `receive from topic "stolen/in"`)
	require.NoError(t, channel.Start(t.Context()))
}

func TestChannel_Forget_removesTheSubscription(t *testing.T) {
	for _, running := range []bool{true, false} {
		b := annotate.NewMemoryBroker(nil)
		channel := newChannel(t, config("gone"), environment(b))
		require.NoError(t, channel.Start(t.Context()))
		if !running {
			require.NoError(t, channel.Stop(t.Context()))
		}
		require.NoError(t, channel.Forget(t.Context()))
		publish(t, b, "gone/in", 0, 1)
		require.Zero(t, b.Unacknowledged(channel.Config().Input))
	}
}

func TestChannel_messagesInFlight_areBounded(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.MaxBytesInFlight = 1 << 20
	channel := newChannel(t, config("bounded"), env)
	require.NoError(t, channel.Start(t.Context()))
	b.HoldConfirmations()
	value := strings.Repeat("x", 100<<10)
	for i := range 100 {
		payload := fmt.Appendf(nil, `{"id": %d, "value": "%s"}`, i, value)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "bounded/in", Payload: payload}))
	}
	await(t, b, "bounded/out", 4)
	require.Never(t, func() bool { return channel.Stats().Received > 12 }, 100*time.Millisecond, 10*time.Millisecond)
	b.ReleaseConfirmations()
	await(t, b, "bounded/out", 100)
}

func TestChannel_Close_preventsAnotherStart(t *testing.T) {
	channel := newChannel(t, config("closed"), environment(annotate.NewMemoryBroker(nil)))
	require.NoError(t, channel.Close())
	require.NoError(t, channel.Close())
	require.ErrorIs(t, channel.Start(t.Context()), annotate.ErrClosed)
}

// closingBroker's publishers close by themselves after some messages.
type closingBroker struct {
	annotate.Broker
	after int
}

type closingPublisher struct {
	annotate.Publisher
	left int
}

func (b closingBroker) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	p, err := b.Broker.Connect(ctx, topic, opts)
	return &closingPublisher{p, b.after}, err
}

func (p *closingPublisher) Publish(ctx context.Context, m annotate.Message, confirmed func(error)) error {
	if p.left == 0 {
		return annotate.ErrBrokerClosed
	}
	p.left--
	return p.Publisher.Publish(ctx, m, confirmed)
}

func TestChannel_closedOutput_stopsAndAcknowledgesNoMore(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("cut"), environment(closingBroker{b, 3}))
	require.NoError(t, channel.Start(t.Context()))
	publish(t, b, "cut/in", 0, 10)
	require.ErrorIs(t, channel.Wait(t.Context()), annotate.ErrBrokerClosed)
	require.ErrorContains(t, channel.Status().Err, `publish to topic "cut/out"`)
	require.Equal(t, 7, b.Unacknowledged(channel.Config().Input))
	require.Zero(t, channel.Stats().Failed, "it is not the messages that failed")
}
