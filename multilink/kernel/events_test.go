//go:build linux

package kernel

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

func TestHub_read_countsWhatASlowReaderMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		ctx, cancel := context.WithCancel(t.Context())
		var got []status.Event
		hold, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- h.read(ctx, func(e status.Event) {
				got = append(got, e)
				<-hold
			})
		}()
		synctest.Wait()
		h.publish(status.Event{Link: "first"})
		synctest.Wait()
		for i := range backlog + 3 {
			h.publish(status.Event{Link: strconv.Itoa(i)})
		}
		close(hold)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Len(t, got, 1+backlog)
		require.Equal(t, status.Event{Link: "3", Missed: 3}, got[1])
		require.Equal(t, status.Event{Link: strconv.Itoa(backlog + 2)}, got[backlog])
		require.Empty(t, h.readers)
	})
}

func TestHub_close_endsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		ended := make(chan error, 1)
		go func() { ended <- h.read(t.Context(), func(status.Event) {}) }()
		synctest.Wait()
		h.close()
		require.ErrorIs(t, <-ended, multilink.ErrClosed)
	})
}
