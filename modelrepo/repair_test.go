package modelrepo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_Repair_removesTracesFromBeforeTheClockWasSetBack(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	_, err = documents.Create(t.Context(), "namespace/new",
		[]byte(`{"id": "b", "mark": {"kind": "pending", "by": "x", "since": "2100-01-01T00:00:00Z"}}`))
	require.NoError(t, err)
	done, err := s.Repair(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, done.Operations)
	_, err = documents.Get(t.Context(), "namespace/new")
	require.ErrorIs(t, err, storage.ErrNotFound)
}
