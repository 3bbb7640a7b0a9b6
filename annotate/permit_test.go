package annotate_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

var errNotNow = errors.New("another process may have it")

// A process that stood still has messages that it may no longer answer: another one does.
func TestChannel_withoutPermit_publishesAndAcknowledgesNothing(t *testing.T) {
	for _, payload := range []string{`{"id": 3, "value": "v3"}`, "bad"} {
		b := annotate.NewMemoryBroker(nil)
		env := environment(b)
		var held atomic.Bool
		env.Permit = func() error {
			if held.Load() {
				return errNotNow
			}
			return nil
		}
		c := withSideTopics(config("held"))
		c.MonitorInput, c.MonitorOutput = nil, nil
		channel := newChannel(t, c, env)
		require.NoError(t, channel.Start(t.Context()))
		publish(t, b, "held/in", 0, 3)
		require.Equal(t, triples(0, 3), await(t, b, "held/out", 3))
		require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)

		held.Store(true)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "held/in", Payload: []byte(payload)}))
		publish(t, b, "held/in", 4, 6)
		require.ErrorIs(t, channel.Wait(t.Context()), errNotNow)
		require.True(t, channel.Status().Stopped)
		require.Len(t, b.Messages("held/out"), 3)
		require.Empty(t, b.Messages("held/errors"))
		require.Equal(t, 3, b.Unacknowledged(channel.Config().Input))

		held.Store(false)
		require.NoError(t, channel.Start(t.Context()))
		require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
		require.Len(t, append(b.Messages("held/out"), b.Messages("held/errors")...), 6)
	}
}
