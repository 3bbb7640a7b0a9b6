package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

var (
	model   = modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	version = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
)

func openMemory(*testing.T) (storage.Documents, storage.Blobs) {
	return storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
}

// prepare creates the version, and what it is in.
func prepare(t *testing.T, s *modelrepo.Store) {
	t.Helper()
	require.NoError(t, s.CreateNamespace(t.Context(), version.Namespace, modelrepo.NamespaceUpdate{}))
	require.NoError(t, s.CreateModel(t.Context(), model, modelrepo.ModelUpdate{}))
	require.NoError(t, s.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}))
}
