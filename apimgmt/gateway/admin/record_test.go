package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_keepsALargeConfigurationInPieces(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	r := &record{docs: docs, piece: 100}
	var large entity.Config
	for i := range 20 {
		large.Services = append(large.Services, entity.Service{Name: fmt.Sprint("s", i), Host: "s.example"})
	}
	large, err := large.Normalize()
	require.NoError(t, err)
	h, revision, err := r.save(t.Context(), large, head{}, 0)
	require.NoError(t, err)
	require.Greater(t, h.Pieces, 10)
	read, found, at, err := r.load(t.Context())
	require.NoError(t, err)
	require.Equal(t, large, read)
	require.Equal(t, h, found)
	require.Equal(t, revision, at)

	_, _, err = r.save(t.Context(), entity.Config{}, head{}, 0)
	require.ErrorIs(t, err, storage.ErrConflict)
	small, _, err := r.save(t.Context(), entity.Config{}, h, revision)
	require.NoError(t, err)
	_, _, err = r.save(t.Context(), large, h, revision)
	require.ErrorIs(t, err, storage.ErrConflict)
	left, err := docs.List(t.Context(), "", "", 0)
	require.NoError(t, err)
	require.Len(t, left, 1+small.Pieces, "the pieces of the text before and of those refused are gone")
}

func TestStore_piecesFitIntoADocument(t *testing.T) {
	require.Less(t, (pieceSize+2)/3*4+2, storage.MaxDataSize)
}
