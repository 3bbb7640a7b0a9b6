package annotate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// stopLimit is what the tests of this file give a channel to stop in. They run
// on the clock of a bubble, so that nothing but waiting takes time.
const stopLimit = 10 * time.Second

// stopInTime stops the channel, and demands that it keeps the limit.
func stopInTime(t *testing.T, channel *annotate.Channel) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopLimit)
	defer cancel()
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- channel.Stop(ctx) }()
	select {
	case err := <-stopped:
		require.LessOrEqual(t, time.Since(began), stopLimit)
		require.True(t, channel.Status().Stopped)
		return err
	case <-time.After(time.Hour):
		require.FailNow(t, "the channel does not stop")
		return nil
	}
}

// stubborn is a broker whose connections for publishing hang in every call,
// until it is released, whatever their context says.
type stubborn struct {
	annotate.Broker
	released chan struct{}
}

type stubbornPublisher struct{ *stubborn }

func (b *stubborn) Connect(context.Context, annotate.Topic, annotate.ConnectOptions) (annotate.Publisher, error) {
	return stubbornPublisher{b}, nil
}

func (p stubbornPublisher) Publish(context.Context, annotate.Message, func(error)) error {
	<-p.released
	return annotate.ErrBrokerClosed
}

func (p stubbornPublisher) Health() error { return nil }

func (p stubbornPublisher) Close(context.Context) error {
	<-p.released
	return nil
}

// aside puts the optional topics of a channel on the other kind of broker.
func aside(c annotate.ChannelConfig) annotate.ChannelConfig {
	c = withSideTopics(c)
	for name, topic := range map[string]*annotate.Topic{
		"errors": c.Error, "seen": c.MonitorInput, "sent": c.MonitorOutput,
	} {
		topic.Broker, topic.Name = otherType, c.ID+"-"+name
	}
	return c
}

func TestChannel_hangingMonitors_blockNeitherDataNorStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := annotate.NewMemoryBroker(nil)
		side := &stubborn{released: make(chan struct{})}
		env := environment(b)
		env.Drivers = append(env.Drivers, other(side))
		c := aside(config("watched"))
		c.Error = nil
		channel := newChannel(t, c, env)
		require.NoError(t, channel.Start(t.Context()))
		publish(t, b, "watched/in", 0, 2000)
		require.Equal(t, triples(0, 2000), await(t, b, "watched/out", 2000))
		began := time.Now()
		require.NoError(t, channel.SetTopics(t.Context(), annotate.OptionalTopics{MonitorInput: true}))
		require.LessOrEqual(t, time.Since(began), stopLimit)
		require.NoError(t, stopInTime(t, channel))
		require.Zero(t, b.Unacknowledged(channel.Config().Input))
		require.Positive(t, channel.Stats().NotesDropped)
		close(side.released)
	})
}

func TestChannel_Stop_endsInTimeWithoutConfirmations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, side := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
		env := environment(b)
		env.Drivers = append(env.Drivers, other(side))
		channel := newChannel(t, aside(config("mute")), env)
		require.NoError(t, channel.Start(t.Context()))
		b.HoldConfirmations()
		side.Down()
		publish(t, b, "mute/in", 0, 10)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "mute/in", Payload: []byte("bad")}))
		synctest.Wait()
		require.ErrorContains(t, stopInTime(t, channel), "to be delivered again: 11")
		require.Equal(t, 11, b.Unacknowledged(channel.Config().Input))
	})
}

// While the error topic is on, a failure is recorded only when that topic has
// it. A broker of it that has died delays the channel, and the channel delays
// its input.
func TestChannel_unreportedFailures_areBoundedAndRedelivered(t *testing.T) {
	for name, start := range map[string]func(*annotate.MemoryBroker) (annotate.ChannelConfig, annotate.Environment){
		"at least once": func(b *annotate.MemoryBroker) (annotate.ChannelConfig, annotate.Environment) {
			env := environment(b)
			return aside(config("lost")), env
		},
		"exactly once": func(b *annotate.MemoryBroker) (annotate.ChannelConfig, annotate.Environment) {
			c := exactlyOnce("lost")
			c.Error.Broker, c.Error.Name = otherType, "lost/errors"
			c.MonitorInput, c.MonitorOutput = nil, nil
			return c, environment(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, side := annotate.NewMemoryBroker(nil), annotate.NewMemoryBroker(nil)
				c, env := start(b)
				env.Window = 32
				env.Drivers = append(env.Drivers, other(side))
				channel := newChannel(t, c, env)
				require.NoError(t, channel.Start(t.Context()))
				side.Down()
				const count = 1000
				for range count {
					require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: c.Input.Name, Payload: []byte("bad")}))
				}
				time.Sleep(time.Hour)
				require.LessOrEqual(t, channel.Stats().Received, uint64(32))
				require.Equal(t, count, b.Unacknowledged(channel.Config().Input))
				require.ErrorContains(t, channel.Status().Err, "error topic")
				require.ErrorContains(t, stopInTime(t, channel), "to be delivered again")
				require.Equal(t, count, b.Unacknowledged(channel.Config().Input))

				side.Up()
				require.NoError(t, channel.Start(t.Context()))
				await(t, side, c.Error.Name, count)
				require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
			})
		})
	}
}

// lateBroker is a broker that takes its time to answer, until the context of
// the call ends.
type lateBroker struct {
	annotate.Broker
	slow    atomic.Bool
	waiting chan struct{}
}

func (b *lateBroker) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	if b.slow.Load() {
		b.waiting <- struct{}{}
		<-ctx.Done()
		return nil, fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, ctx.Err())
	}
	return b.Broker.Connect(ctx, topic, opts)
}

func TestChannel_Stop_interruptsSetTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := annotate.NewMemoryBroker(nil)
		side := &lateBroker{Broker: b, waiting: make(chan struct{}, 1)}
		env := environment(b)
		env.Drivers = append(env.Drivers, other(side))
		env.ConnectTimeout = time.Hour
		c := aside(config("busy"))
		c.Off.Error = true
		channel := newChannel(t, c, env)
		require.NoError(t, channel.Start(t.Context()))
		side.slow.Store(true)
		switched := make(chan error, 1)
		go func() { switched <- channel.SetTopics(t.Context(), annotate.OptionalTopics{}) }()
		<-side.waiting
		require.NoError(t, stopInTime(t, channel))
		require.ErrorIs(t, <-switched, annotate.ErrBrokerUnavailable)
		require.True(t, channel.Status().Off.Error)

		started := make(chan error, 1)
		go func() { started <- channel.Start(t.Context()) }()
		<-side.waiting
		require.NoError(t, stopInTime(t, channel))
		require.Error(t, <-started)
		require.True(t, channel.Status().Stopped)
	})
}

// A record of Kafka may have no value, and a message of MQTT no payload. That
// is no JSON, XML or CSV: it fails like any other that is none, and alone.
func TestChannel_messageWithoutPayload_failsAlone(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("nothing"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "nothing/in", Key: []byte("k")}))
	publish(t, b, "nothing/in", 0, 1)
	require.Equal(t, triples(0, 1), await(t, b, "nothing/out", 1))
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	require.EqualValues(t, 1, channel.Stats().Failed)
	require.NotEmpty(t, channel.Stats().LastError)
}

func TestChannel_Stop_stopsAChannelAlthoughItsContextHasEnded(t *testing.T) {
	channel := newChannel(t, config("now"), environment(annotate.NewMemoryBroker(nil)))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // of two cases that are ready, select takes any
		require.NoError(t, channel.Start(t.Context()))
		require.NoError(t, channel.Stop(over))
		require.True(t, channel.Status().Stopped)
	}
}
