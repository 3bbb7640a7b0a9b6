package lease

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

func TestInstant_Elapsed_countsByTheClockThatAdvancedFurther(t *testing.T) {
	suspended, setBack := Now(), Now()
	suspended.wall = suspended.wall.Add(-time.Hour)
	require.GreaterOrEqual(t, suspended.Elapsed(), time.Hour, "the monotonic clock stood still")
	setBack.wall, setBack.monotonic = setBack.wall.Add(time.Hour), setBack.monotonic.Add(-time.Minute)
	require.GreaterOrEqual(t, setBack.Elapsed(), time.Minute, "the wall clock was set back")
	require.Less(t, setBack.Elapsed(), time.Hour)
}

// away are documents that cannot be updated.
type away struct{ storage.Documents }

func (away) Update(context.Context, string, storage.Revision, []byte) (storage.Revision, error) {
	return 0, storage.ErrUnavailable
}

func TestLease_Context_endsSoonAfterAMachineWasSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Pointer[Lease]
		l, err := Acquire(t.Context(), Config{Documents: away{storage.NewMemoryDocuments()}, Key: "k", Duration: time.Minute,
			Failed: func(error) { // before the goroutine that renews the lease rests again
				l := held.Load()
				l.renewed.wall = l.renewed.wall.Add(-time.Hour)
			}})
		require.NoError(t, err)
		held.Store(l)
		time.Sleep(time.Minute/3 - time.Millisecond)
		require.NoError(t, l.Context().Err())
		time.Sleep(2 * time.Millisecond)
		require.ErrorIs(t, context.Cause(l.Context()), ErrLost)
		require.NoError(t, l.Release(t.Context()))
	})
}
