package disk

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/iotenablers/enablers/storage"
)

// damage stores a record that cannot be decoded.
func damage(store *Store, bucket, key string) error {
	return store.commits.do(context.Background(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucket)).Put([]byte(key), []byte("damaged"))
	})
}

func openStore(t *testing.T) *Store {
	t.Helper()
	store, err := Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// note returns a change that stores a key, after the transaction was begun.
func note(key string) func(tx *bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(metaBucket)).Put([]byte(key), []byte("noted"))
	}
}

func isNoted(t *testing.T, store *Store, key string) bool {
	t.Helper()
	noted := false
	require.NoError(t, store.view(func(tx *bbolt.Tx) error {
		noted = tx.Bucket([]byte(metaBucket)).Get([]byte(key)) != nil
		return nil
	}))
	return noted
}

func TestCommitQueue_commitsWaitingChangesInOneTransaction(t *testing.T) {
	store := openStore(t)
	<-store.commits.turn // as if a transaction were running
	var ids sync.Map
	var callers sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		callers.Go(func() {
			err := store.commits.do(t.Context(), func(tx *bbolt.Tx) error {
				ids.Store(tx.ID(), true)
				return note(key)(tx)
			})
			require.NoError(t, err)
		})
	}
	waitFor(t, store, 3)
	store.commits.turn <- struct{}{}
	callers.Wait()
	transactions := 0
	ids.Range(func(any, any) bool { transactions++; return true })
	require.Equal(t, 1, transactions)
	require.True(t, isNoted(t, store, "a") && isNoted(t, store, "b") && isNoted(t, store, "c"))
}

func TestCommitQueue_dropsACancelledChange(t *testing.T) {
	store := openStore(t)
	<-store.commits.turn
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan error, 1)
	go func() { outcome <- store.commits.do(ctx, note("late")) }()
	waitFor(t, store, 1)
	cancel()
	require.ErrorIs(t, <-outcome, context.Canceled)
	store.commits.turn <- struct{}{}
	require.NoError(t, store.commits.do(t.Context(), note("next")))
	require.False(t, isNoted(t, store, "late"))
}

func TestCommitQueue_commitsTheOthersOfARefusedChange(t *testing.T) {
	store := openStore(t)
	batch := []*change{
		{apply: note("before"), done: make(chan error, 1)},
		{apply: func(*bbolt.Tx) error { return storage.ErrConflict }, done: make(chan error, 1)},
		{apply: note("after"), done: make(chan error, 1)},
	}
	store.commits.commit(batch)
	require.NoError(t, <-batch[0].done)
	require.ErrorIs(t, <-batch[1].done, storage.ErrConflict)
	require.NoError(t, <-batch[2].done)
	require.True(t, isNoted(t, store, "before") && isNoted(t, store, "after"))
}

func TestCommitQueue_rollsBackTheTransactionOfABrokenChange(t *testing.T) {
	store := openStore(t)
	broken := errors.New("broken")
	batch := []*change{
		{apply: note("before"), done: make(chan error, 1)},
		{apply: func(*bbolt.Tx) error { return broken }, done: make(chan error, 1)},
	}
	store.commits.commit(batch)
	require.ErrorIs(t, <-batch[0].done, broken)
	require.ErrorIs(t, <-batch[1].done, broken)
	require.False(t, isNoted(t, store, "before"))
}

func TestCommitQueue_answersAllWaitersAfterAPanic(t *testing.T) {
	store := openStore(t)
	company := &change{apply: note("company"), done: make(chan error, 1)}
	store.commits.waiting = append(store.commits.waiting, company)
	err := store.commits.do(t.Context(), func(*bbolt.Tx) error { panic("broken") })
	require.ErrorContains(t, err, "store.db is damaged: broken: restore store.db")
	require.ErrorContains(t, <-company.done, "broken")
	require.False(t, isNoted(t, store, "company"))
	require.NoError(t, store.commits.do(t.Context(), note("next")), "the queue goes on")
}

// waitFor returns when so many changes are waiting.
func waitFor(t *testing.T, store *Store, changes int) {
	t.Helper()
	require.Eventually(t, func() bool {
		store.commits.mu.Lock()
		defer store.commits.mu.Unlock()
		return len(store.commits.waiting) == changes
	}, time.Minute, time.Millisecond)
}
