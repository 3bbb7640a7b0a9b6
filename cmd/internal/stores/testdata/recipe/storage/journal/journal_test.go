package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/journal"
	"github.com/iotenablers/enablers/storage/storagetest"
)

func open(t *testing.T, name string) *journal.Store {
	t.Helper()
	store, err := journal.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestDocuments_conforms(t *testing.T) {
	storagetest.Documents(t, func(t *testing.T) storage.Documents {
		return open(t, filepath.Join(t.TempDir(), "journal")).Documents()
	})
}

func TestBlobs_conforms(t *testing.T) {
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs { return open(t, filepath.Join(t.TempDir(), "journal")).Blobs() })
}

func TestStore_isClosed(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, store.Close())
	storagetest.ClosedDocuments(t, store.Documents())
	storagetest.ClosedBlobs(t, store.Blobs())
}

func TestOpen_hasWhatWasAcknowledgedBeforeACrash(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	store := open(t, name)
	first, err := store.Documents().Create(t.Context(), "key", []byte(`"first"`))
	require.NoError(t, err)
	second, err := store.Documents().Update(t.Context(), "key", first, []byte(`"second"`))
	require.NoError(t, err)
	w, err := store.Blobs().Create(t.Context(), "blob")
	require.NoError(t, err)
	_, err = w.Write([]byte("bytes"))
	require.NoError(t, err)
	_, err = w.Commit(t.Context())
	require.NoError(t, err)

	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, append(whole, `{"op":"delete","key":`...), 0o600))
	again := open(t, name)
	found, err := again.Documents().Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, storage.Document{Key: "key", Revision: second, Data: []byte(`"second"`)}, found)
	info, err := again.Blobs().Stat(t.Context(), "blob")
	require.NoError(t, err)
	require.EqualValues(t, 5, info.Size)
	require.NoError(t, again.Documents().Delete(t.Context(), "key", second))
	_, err = open(t, name).Documents().Get(t.Context(), "key")
	require.ErrorIs(t, err, storage.ErrNotFound)
}
