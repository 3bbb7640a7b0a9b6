package repository_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/repository/repositorytest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func newStore(t *testing.T, docs storage.Documents, blobs storage.Blobs) *repository.Store {
	t.Helper()
	store, err := repository.New(repository.Config{Documents: docs, Blobs: blobs, Dir: t.TempDir(), MaxFile: 1 << 20, MaxModel: 1 << 20})
	require.NoError(t, err)
	return store
}

func memory(t *testing.T) *repository.Store {
	t.Helper()
	return newStore(t, storage.NewMemoryDocuments(), storage.NewMemoryBlobs())
}

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func client(t *testing.T, config repository.ClientConfig) *repository.Client {
	t.Helper()
	config.Dir = t.TempDir()
	c, err := repository.NewClient(config)
	require.NoError(t, err)
	return c
}

func TestStore_inMemoryPassesTheSuite(t *testing.T) {
	repositorytest.Run(t, func(t *testing.T) (flcollect.Repository, http.Handler) {
		store := memory(t)
		return store, repository.NewHandler(store, nil)
	})
}

func TestStore_onDiskPassesTheSuite(t *testing.T) {
	repositorytest.Run(t, func(t *testing.T) (flcollect.Repository, http.Handler) {
		folder, err := disk.Open(t.Context(), t.TempDir(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, folder.Close()) })
		store := newStore(t, storage.Prefixed(folder.Documents(), "flrepository/"), storage.PrefixedBlobs(folder.Blobs(), "flrepository/"))
		return store, repository.NewHandler(store, nil)
	})
}

func TestClient_passesTheSuite(t *testing.T) {
	for name, npz := range map[string]bool{"pickle": false, "npz too": true} {
		t.Run(name, func(t *testing.T) {
			repositorytest.Run(t, func(t *testing.T) (flcollect.Repository, http.Handler) {
				handler := repository.NewHandler(memory(t), nil)
				return client(t, repository.ClientConfig{BaseURL: serve(t, handler), NPZ: npz}), handler
			})
		})
	}
}

// fullBlobs are blobs on a disk without space.
type fullBlobs struct{ storage.Blobs }

func (fullBlobs) Space(context.Context) error { return storage.ErrFull }

func TestStore_Ready_findsAFullDiskOfTheBlobsAlone(t *testing.T) {
	require.NoError(t, memory(t).Ready(t.Context()))
	store := newStore(t, storage.NewMemoryDocuments(), fullBlobs{storage.NewMemoryBlobs()})
	require.ErrorIs(t, store.Ready(t.Context()), storage.ErrFull)
}
