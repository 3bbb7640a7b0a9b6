package retry_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/retry"
)

func TestPause_doublesUpToTheLongest(t *testing.T) {
	for failures, full := range map[int]time.Duration{
		0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 6: time.Minute, 40: time.Minute, math.MaxInt: time.Minute,
	} {
		for range 100 {
			pause := retry.Pause(time.Second, time.Minute, failures)
			require.LessOrEqual(t, pause, full)
			require.GreaterOrEqual(t, pause, full/2)
		}
	}
	require.GreaterOrEqual(t, retry.Pause(math.MaxInt64/4, math.MaxInt64, 10), time.Duration(math.MaxInt64/2), "does not overflow")
	require.Zero(t, retry.Pause(0, 0, 3))
}

func TestBackoff_Wait_waitsForLongerAndBeginsAgainAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retry.Backoff{Least: time.Second, Most: time.Minute}
		wait := func() time.Duration {
			began := time.Now()
			require.NoError(t, b.Wait(t.Context()))
			return time.Since(began)
		}
		require.LessOrEqual(t, wait(), time.Second)
		for range 5 {
			wait()
		}
		require.GreaterOrEqual(t, wait(), 30*time.Second)
		b.Reset()
		require.LessOrEqual(t, wait(), time.Second)
	})
}

func TestBackoff_Wait_returnsWhyTheContextEnded(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	b := retry.Backoff{Least: time.Hour, Most: time.Hour}
	require.ErrorIs(t, b.Wait(ctx), why)
}
