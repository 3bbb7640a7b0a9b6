package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

const duration = 3 * time.Second

var errAway = errors.New("the store is away")

// severed is a store that one process can lose, and whose answers can be lost.
type severed struct {
	storage.Documents
	away, deaf atomic.Bool
}

func (d *severed) Get(ctx context.Context, key string) (storage.Document, error) {
	if d.away.Load() {
		return storage.Document{}, errAway
	}
	return d.Documents.Get(ctx, key)
}

func (d *severed) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if d.away.Load() {
		return 0, errAway
	}
	revision, err := d.Documents.Create(ctx, key, data)
	return d.answer(revision, err)
}

func (d *severed) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if d.away.Load() {
		return 0, errAway
	}
	revision, err := d.Documents.Update(ctx, key, prev, data)
	return d.answer(revision, err)
}

func (d *severed) answer(revision storage.Revision, err error) (storage.Revision, error) {
	if d.deaf.Swap(false) {
		return 0, errAway
	}
	return revision, err
}

func acquire(t *testing.T, documents storage.Documents) *lease.Lease {
	t.Helper()
	l, err := lease.Acquire(t.Context(), lease.Config{Documents: documents, Key: "k", Duration: duration})
	require.NoError(t, err)
	return l
}

func TestAcquire_refusesAnInvalidConfiguration(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	_, err := lease.Acquire(t.Context(), lease.Config{Key: "k", Duration: duration})
	require.EqualError(t, err, "acquire lease: Documents is required")
	_, err = lease.Acquire(t.Context(), lease.Config{Documents: documents, Key: "k"})
	require.EqualError(t, err, "acquire lease: Duration is 0s, must be 10ms to 1h0m0s")
	_, err = lease.Acquire(t.Context(), lease.Config{Documents: documents, Duration: duration})
	require.ErrorIs(t, err, storage.ErrInvalidKey)
}

// hanging are documents that do not answer updates.
type hanging struct{ storage.Documents }

func (hanging) Update(ctx context.Context, _ string, _ storage.Revision, _ []byte) (storage.Revision, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestLease_Release_doesNotWaitForARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := lease.Acquire(t.Context(), lease.Config{
			Documents: hanging{storage.NewMemoryDocuments()}, Key: "k", Duration: time.Hour,
			Failed: func(err error) { t.Errorf("a failure of a release is none of the store: %v", err) },
		})
		require.NoError(t, err)
		time.Sleep(21 * time.Minute) // a renewal hangs
		began := time.Now()
		require.NoError(t, l.Release(t.Context()))
		require.Zero(t, time.Since(began))
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReleased)
	})
}

func TestLease_isRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		first := acquire(t, documents)
		waits, cancel := context.WithTimeout(t.Context(), 100*duration)
		defer cancel()
		_, err := lease.Acquire(waits, lease.Config{Documents: documents, Key: "k", Duration: duration})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, first.Context().Err())
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, first.Release(t.Context()))
		require.ErrorIs(t, context.Cause(first.Context()), lease.ErrReleased)
		_, err = documents.Get(t.Context(), "k")
		require.ErrorIs(t, err, storage.ErrNotFound)
	})
}

func TestLease_Context_endsBeforeAnotherProcessTakesTheKey(t *testing.T) {
	for name, held := range map[string]time.Duration{"at once": 0, "after renewals": 10*duration + 17*time.Millisecond} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { losesItsStore(t, held) }) })
	}
}

// losesItsStore loses the store of a lease after a while.
func losesItsStore(t *testing.T, held time.Duration) {
	documents := storage.NewMemoryDocuments()
	mine := &severed{Documents: documents}
	first := acquire(t, mine)
	time.Sleep(held)
	mine.away.Store(true)
	second := acquire(t, documents)
	require.ErrorIs(t, context.Cause(first.Context()), lease.ErrLost)
	require.NotEqual(t, first.Session(), second.Session())
	mine.away.Store(false)
	require.NoError(t, first.Release(t.Context())) // that of the second stays
	_, err := documents.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, second.Context().Err())
	require.NoError(t, second.Release(t.Context()))
}

func TestLease_survivesALostAnswerAndAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := &severed{Documents: storage.NewMemoryDocuments()}
		mine.deaf.Store(true)
		l := acquire(t, mine)
		for range 20 {
			mine.deaf.Store(true)
			time.Sleep(duration)
			mine.away.Store(true)
			time.Sleep(duration / 3)
			mine.away.Store(false)
			time.Sleep(duration / 3)
			require.NoError(t, l.Context().Err())
		}
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestAcquire_takesTheKeyOfAPredecessorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		first := acquire(t, documents)
		began := time.Now()
		second, err := lease.Acquire(t.Context(), lease.Config{Documents: documents, Key: "k", Duration: duration, Succeed: true})
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		<-first.Context().Done()
		require.ErrorIs(t, context.Cause(first.Context()), lease.ErrLost)
		require.NoError(t, second.Context().Err())
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, second.Release(t.Context()))
	})
}

func TestWatcher_Look_deletesWhatHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		mine := &severed{Documents: documents}
		dying := acquire(t, mine)
		living, err := lease.Acquire(t.Context(), lease.Config{Documents: documents, Key: "kk", Duration: duration})
		require.NoError(t, err)
		watcher := lease.NewWatcher(documents, "k", duration)
		sessions := func() (all []string) {
			holders, err := watcher.Look(t.Context())
			require.NoError(t, err)
			for _, h := range holders {
				all = append(all, h.Session)
			}
			return all
		}
		for range 10 {
			require.Equal(t, []string{dying.Session(), living.Session()}, sessions())
			time.Sleep(duration / 2)
		}
		mine.away.Store(true)
		for len(sessions()) == 2 {
			time.Sleep(duration / 10)
		}
		require.ErrorIs(t, context.Cause(dying.Context()), lease.ErrLost)
		require.Equal(t, []string{living.Session()}, sessions())
		mine.away.Store(false)
		require.NoError(t, dying.Release(t.Context()))
		require.NoError(t, living.Release(t.Context()))
	})
}

func TestObservation_Unchanged_countsFromTheFirstReadOfARevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen lease.Observation
		time.Sleep(time.Hour)
		require.Zero(t, seen.Unchanged(1))
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, seen.Unchanged(1))
		time.Sleep(time.Minute)
		require.Equal(t, 2*time.Minute, seen.Unchanged(1))
		require.Zero(t, seen.Unchanged(2))
		time.Sleep(time.Second)
		require.Equal(t, time.Second, seen.Unchanged(2))
	})
}

func TestAcquire_givesAKeyToOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		var holders atomic.Int32
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for range 5 {
					l, err := lease.Acquire(t.Context(), lease.Config{Documents: documents, Key: "k", Duration: 5 * time.Second,
						Value: fmt.Appendf(nil, "%d", i), Failed: func(err error) { t.Error(err) }})
					if err != nil {
						t.Error(err)
						return
					}
					if holders.Add(1) != 1 {
						t.Error("two processes hold the key")
					}
					time.Sleep(10 * time.Second) // of the bubble's clock
					holders.Add(-1)
					if err := l.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
	})
}
