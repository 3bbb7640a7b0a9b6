package clock_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo/internal/clock"
)

const (
	day   = 24 * time.Hour
	never = time.Duration(math.MaxInt64)
)

var farAhead = time.Date(2900, 1, 1, 0, 0, 0, 0, time.UTC)

func TestPassed_isTrueForWhatIsTooFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for age, passed := range map[time.Duration]bool{
			2 * day: true, day: true, day - 1: false, 0: false,
			-day: false, -day - time.Minute: false, -day - time.Minute - 1: true,
		} {
			require.Equal(t, passed, clock.Passed(time.Now().Add(-age), day), age)
		}
		require.True(t, clock.Passed(farAhead, day))
		require.True(t, clock.Passed(time.Time{}, day))
		require.False(t, clock.Passed(time.Now(), never))
		require.False(t, clock.Passed(time.Now().Add(-day), never))
		require.False(t, clock.Passed(time.Now().Add(-time.Second), time.Minute), "clocks differ")
	})
}
