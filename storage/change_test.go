package storage_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

func TestOvertaken_matchesLostRacesOnly(t *testing.T) {
	for _, err := range []error{storage.ErrConflict, storage.ErrNotFound, storage.ErrExists} {
		require.True(t, storage.Overtaken(fmt.Errorf("update document: %w", err)))
	}
	for _, err := range []error{nil, storage.ErrFull, storage.ErrUnavailable, storage.ErrClosed, context.Canceled} {
		require.False(t, storage.Overtaken(err))
	}
}

func TestRetry_pausesAfterThreeAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, n := time.Now(), 0
		require.NoError(t, storage.Retry(t.Context(), func() (bool, error) {
			n++
			if n == 4 {
				require.Positive(t, time.Since(began))
			} else if n < 4 {
				require.Zero(t, time.Since(began))
			}
			return n < 50, nil
		}))
		require.Equal(t, 50, n)
		require.Greater(t, time.Since(began), time.Second)
		require.Less(t, time.Since(began), 5*time.Second, "no pause is longer than a tenth of a second")
	})
}

func TestRetry_endsWithTheContext(t *testing.T) {
	for _, attempts := range []int{1, 5} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := storage.Retry(ctx, func() (bool, error) {
			if n++; n == attempts {
				cancel()
			}
			return true, storage.ErrConflict
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, attempts, n)
	}
}

func TestChange_readsAgainWhatAnotherWriterHasChanged(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	calls := 0
	after, err := storage.Change(t.Context(), docs, "key", func(found storage.Document) ([]byte, error) {
		switch calls++; calls {
		case 1: // another writer creates it
			require.Zero(t, found.Revision)
			_, err := docs.Create(t.Context(), "key", []byte(`"b"`))
			return []byte(`"a"`), err
		case 2: // replaces it
			require.Equal(t, `"b"`, string(found.Data))
			_, err := docs.Update(t.Context(), "key", found.Revision, []byte(`"c"`))
			return []byte(`"a"`), err
		case 3: // and deletes it
			require.Equal(t, `"c"`, string(found.Data))
			return []byte(`"a"`), docs.Delete(t.Context(), "key", found.Revision)
		}
		require.Equal(t, storage.Document{Key: "key"}, found)
		return []byte(`"a"`), nil
	})
	require.NoError(t, err)
	require.Equal(t, 4, calls)
	stored, err := docs.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, stored, after)
	require.Equal(t, `"a"`, string(stored.Data))
}

func TestChange_letsOneOfManyWritersDecide(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	secrets := make([]string, 20)
	var group sync.WaitGroup
	for i := range secrets {
		group.Go(func() {
			_, err := storage.Change(t.Context(), documents, "token", func(found storage.Document) ([]byte, error) {
				if found.Revision != 0 {
					secrets[i] = string(found.Data)
					return nil, nil
				}
				secrets[i] = fmt.Sprintf("%q", rand.Text())
				return []byte(secrets[i]), nil
			})
			if err != nil {
				secrets[i] = err.Error()
			}
		})
	}
	group.Wait()
	kept, err := documents.Get(t.Context(), "token")
	require.NoError(t, err)
	for _, secret := range secrets {
		require.Equal(t, string(kept.Data), secret)
	}
}

func TestChange_leavesTheDocumentAlone(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	revision, err := docs.Create(t.Context(), "key", []byte(`1`))
	require.NoError(t, err)
	found, err := storage.Change(t.Context(), docs, "key", func(storage.Document) ([]byte, error) { return nil, nil })
	require.NoError(t, err)
	require.Equal(t, storage.Document{Key: "key", Revision: revision, Data: []byte(`1`)}, found)

	// An error of the function ends it, also one that the store could have returned.
	_, err = storage.Change(t.Context(), docs, "key", func(storage.Document) ([]byte, error) { return []byte(`2`), storage.ErrConflict })
	require.Equal(t, storage.ErrConflict, err)
	require.Equal(t, storage.ErrExists, storage.Remove(t.Context(), docs, "key", func(storage.Document) (bool, error) {
		return true, storage.ErrExists
	}))
	stored, err := docs.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, found, stored)
}

// brokenDocuments fails to write.
type brokenDocuments struct{ storage.Documents }

func (brokenDocuments) Update(context.Context, string, storage.Revision, []byte) (storage.Revision, error) {
	return 0, storage.ErrFull
}

func (brokenDocuments) Delete(context.Context, string, storage.Revision) error {
	return storage.ErrUnavailable
}

func TestChange_returnsOtherErrorsOfTheStore(t *testing.T) {
	docs := brokenDocuments{storage.NewMemoryDocuments()}
	_, err := docs.Create(t.Context(), "key", []byte(`1`))
	require.NoError(t, err)
	_, err = storage.Change(t.Context(), docs, "key", func(storage.Document) ([]byte, error) { return []byte(`2`), nil })
	require.ErrorIs(t, err, storage.ErrFull)
	require.ErrorIs(t, storage.Remove(t.Context(), docs, "key", nil), storage.ErrUnavailable)
	_, err = storage.Change(t.Context(), docs, "\n", func(storage.Document) ([]byte, error) { return nil, errors.New("not called") })
	require.ErrorIs(t, err, storage.ErrInvalidKey)
}

func TestRemove_checksAgainWhatAnotherWriterHasChanged(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	_, err := docs.Create(t.Context(), "key", []byte(`"old"`))
	require.NoError(t, err)
	check := func(found storage.Document) (bool, error) {
		if string(found.Data) != `"old"` {
			return false, nil
		}
		_, err := docs.Update(t.Context(), "key", found.Revision, []byte(`"new"`))
		return true, err
	}
	require.NoError(t, storage.Remove(t.Context(), docs, "key", check))
	stored, err := docs.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, `"new"`, string(stored.Data))
	require.NoError(t, storage.Remove(t.Context(), docs, "key", nil))
	require.ErrorIs(t, storage.Remove(t.Context(), docs, "key", check), storage.ErrNotFound)
}
