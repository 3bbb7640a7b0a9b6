package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

func TestObservations_Look_countsFromTheFirstLookThatFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o lease.Observations
		revision := storage.Revision(0)
		look := func(fails error, keys ...string) (ages []time.Duration) {
			require.Equal(t, fails, o.Look(func(unchanged lease.Unchanged) error {
				for _, key := range keys {
					ages = append(ages, unchanged(key, revision))
				}
				return fails
			}))
			return ages
		}
		require.Equal(t, []time.Duration{0}, look(nil, "a"))
		time.Sleep(time.Hour)
		require.Equal(t, []time.Duration{time.Hour, 0}, look(nil, "a", "b"))
		time.Sleep(time.Hour)
		require.Equal(t, []time.Duration{time.Hour}, look(nil, "b"), "a was named, or is gone")
		require.Equal(t, []time.Duration{0}, look(errors.New("the store is away"), "a"))
		time.Sleep(time.Hour)
		require.Equal(t, []time.Duration{0, 2 * time.Hour}, look(nil, "a", "b"), "the look that failed does not count")
		revision++
		require.Equal(t, []time.Duration{0}, look(nil, "a"), "it has changed")
	})
}
