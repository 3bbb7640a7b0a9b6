package modelrepo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_Upload_refusesAnInvalidContentType(t *testing.T) {
	store, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	require.NoError(t, store.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, store.CreateModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}))
	require.NoError(t, store.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))

	for _, bad := range []string{strings.Repeat("a", 1025), "text/plain\r\nX-A: b", "text/plän"} {
		opts := modelrepo.UploadOptions{ContentType: bad}
		_, err := store.Upload(t.Context(), at, "text/plain", strings.NewReader("x"), &opts)
		require.ErrorIs(t, err, modelrepo.ErrInvalid)
		_, err = store.Uploads().Begin(t.Context(), at, "text/plain", 1, &modelrepo.ResumableOptions{UploadOptions: opts})
		require.ErrorIs(t, err, modelrepo.ErrInvalid)
	}
	longest := "text/plain;x=" + strings.Repeat("a", 1024-len("text/plain;x="))
	_, err = store.Upload(t.Context(), at, "text/plain", strings.NewReader("x"), &modelrepo.UploadOptions{ContentType: longest})
	require.NoError(t, err)
}
