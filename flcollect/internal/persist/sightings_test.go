package persist_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
)

func TestSightings_Look_countsFromTheFirstLookThatFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s persist.Sightings
		look := func(fails error, keys ...string) (ages []time.Duration) {
			require.Equal(t, fails, s.Look(func(age func(string) time.Duration) error {
				for _, key := range keys {
					ages = append(ages, age(key))
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
	})
}
