package disk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
	"github.com/iotenablers/enablers/storage/storagetest"
)

// open opens a store for the length of a test.
func open(t testing.TB, dir string) *disk.Store {
	t.Helper()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestDocuments_conforms(t *testing.T) {
	storagetest.Documents(t, func(t *testing.T) storage.Documents { return open(t, t.TempDir()).Documents() })
}

func TestBlobs_conforms(t *testing.T) {
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs { return open(t, t.TempDir()).Blobs() })
}
