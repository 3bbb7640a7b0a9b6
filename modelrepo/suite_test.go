package modelrepo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo/modelrepotest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func openMemory(*testing.T) (storage.Documents, storage.Blobs) {
	return storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
}

func openDisk(t *testing.T) (storage.Documents, storage.Blobs) {
	store, err := disk.Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store.Documents(), store.Blobs()
}

func TestStore_keepsTheContractOverMemory(t *testing.T) { modelrepotest.Run(t, openMemory) }

func TestStore_keepsTheContractOverDisk(t *testing.T) { modelrepotest.Run(t, openDisk) }
