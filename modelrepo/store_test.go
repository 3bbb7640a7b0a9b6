package modelrepo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// fullBlobs are blobs on a disk without space.
type fullBlobs struct{ storage.Blobs }

func (fullBlobs) Space(context.Context) error { return storage.ErrFull }

func TestStore_Ping_findsAFullDiskOfTheBlobsAlone(t *testing.T) {
	for _, full := range []bool{false, true} {
		docs, blobs := openMemory(t)
		if full {
			blobs = fullBlobs{blobs}
		}
		store, err := modelrepo.New(modelrepo.Config{
			Documents: docs, Blobs: storage.PrefixedBlobs(blobs, "modelrepo/"),
		})
		require.NoError(t, err)
		err = store.Ping(t.Context())
		if full {
			require.ErrorIs(t, err, storage.ErrFull)
			require.ErrorContains(t, err, "blobs")
		} else {
			require.NoError(t, err)
		}
	}
}

func TestStore_reportsWhatOperationsChange(t *testing.T) {
	docs, blobs := openMemory(t)
	var changes []modelrepo.Change
	store, err := modelrepo.New(modelrepo.Config{
		Documents: docs, Blobs: blobs, Changed: func(c modelrepo.Change) { changes = append(changes, c) },
	})
	require.NoError(t, err)
	require.NoError(t, store.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.Error(t, store.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, store.DeleteNamespace(t.Context(), "w3c"))
	at := modelrepo.Path{Namespace: "w3c"}
	require.Equal(t, []modelrepo.Change{{Action: modelrepo.NamespaceCreate, Path: at}, {Action: modelrepo.NamespaceDelete, Path: at}}, changes)
}
