package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

func join(t *testing.T, documents storage.Documents, name string) (*fleet.Fleet, context.Context) {
	t.Helper()
	f := fleet.New(fleet.Config{Documents: documents, Name: name, Address: name + ":8080", Lease: 10 * time.Second})
	tenure, err := f.Join(t.Context())
	require.NoError(t, err)
	require.NoError(t, f.Secret(t.Context()))
	return f, tenure
}

func TestFleet_Take_givesAJobToOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		a, _ := join(t, documents, "a")
		b, _ := join(t, documents, "b")
		_, err := a.Take(t.Context(), "job", "run 1")
		require.NoError(t, err)
		e, err := b.Take(t.Context(), "job", "run 2")
		require.ErrorIs(t, err, fleet.ErrHeld)
		require.Equal(t, "run 1", e.Token)
		require.Equal(t, "a:8080", e.Address)
		_, err = a.Take(t.Context(), "job", "run 3") // its own
		require.NoError(t, err)

		require.NoError(t, b.Show(t.Context(), "job", fleet.Live{Clients: 7})) // not its own
		require.NoError(t, a.Show(t.Context(), "job", fleet.Live{Clients: 3}))
		require.NoError(t, b.Change(t.Context(), "job", func(e *fleet.Entry) bool {
			e.Stop = "run 3"
			return true
		}))
		require.NoError(t, b.Drop(t.Context(), "job")) // not its own
		entries, err := b.Look(t.Context())
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.True(t, entries[0].Alive)
		require.Equal(t, 3, entries[0].Shown().Clients)
		require.Equal(t, "run 3", entries[0].Stop)

		require.NoError(t, a.Leave(t.Context()))
		entries, err = b.Look(t.Context())
		require.NoError(t, err)
		require.False(t, entries[0].Alive)
		_, err = b.Take(t.Context(), "job", "run 3")
		require.NoError(t, err)
		require.NoError(t, b.Drop(t.Context(), "job"))
		_, err = b.Get(t.Context(), "job")
		require.ErrorIs(t, err, storage.ErrNotFound)
		require.NoError(t, b.Leave(t.Context()))
	})
}

func TestFleet_Join_succeedsAnEarlierServerOfTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		a, first := join(t, documents, "a")
		_, err := a.Take(t.Context(), "job", "run")
		require.NoError(t, err)
		again, _ := join(t, documents, "a")
		_, err = again.Take(t.Context(), "job", "run")
		require.NoError(t, err)
		<-first.Done()
		require.ErrorIs(t, context.Cause(first), lease.ErrLost)
		require.NoError(t, a.Leave(t.Context()))
		require.NoError(t, again.Leave(t.Context()))
	})
}

func TestFleet_Join_waitsWhileAnotherProcessHasTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		a, first := join(t, documents, "a")
		clone, tenure := join(t, documents, "a")
		<-first.Done()
		require.ErrorIs(t, context.Cause(first), lease.ErrTaken)
		waiting, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := a.Join(waiting)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, tenure.Err())
		require.NoError(t, clone.Leave(t.Context()))
		_, err = a.Join(t.Context())
		require.NoError(t, err)
		require.NoError(t, a.Leave(t.Context()))
	})
}

func TestFleet_Join_takesItsOwnNameBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := &offline{Documents: storage.NewMemoryDocuments()}
		a, tenure := join(t, documents, "a")
		documents.off.Store(true)
		<-tenure.Done()
		documents.off.Store(false)
		began := time.Now()
		_, err := a.Join(t.Context())
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		require.NoError(t, a.Leave(t.Context()))
	})
}

// offline are documents that cannot be replaced for a while.
type offline struct {
	storage.Documents
	off atomic.Bool
}

func (o *offline) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if o.off.Load() {
		return 0, storage.ErrUnavailable
	}
	return o.Documents.Update(ctx, key, prev, data)
}

func TestFleet_Trusts_serversOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := storage.NewMemoryDocuments()
		a, _ := join(t, documents, "a")
		b, _ := join(t, documents, "b")
		other, _ := join(t, storage.NewMemoryDocuments(), "a")
		require.NoError(t, a.Trusts(b.Token()))
		require.ErrorContains(t, a.Trusts(other.Token()), "do they use one store?")
		unborn := fleet.New(fleet.Config{Documents: documents, Name: "c", Lease: time.Second})
		require.Error(t, unborn.Trusts(""))
		for _, f := range []*fleet.Fleet{a, b, other} {
			require.NoError(t, f.Leave(t.Context()))
		}
	})
}
