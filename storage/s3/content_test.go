package s3_test

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
)

// contentOf returns bytes that follow from the name and repeat nowhere.
func contentOf(name string, size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(name))).Read(content) // never fails
	return content
}

func put(t testing.TB, store *s3.Store, key string, content []byte) storage.BlobInfo {
	t.Helper()
	writer, err := store.Blobs().Create(t.Context(), key)
	require.NoError(t, err)
	defer writer.Abort()
	_, err = writer.Write(content)
	require.NoError(t, err)
	info, err := writer.Commit(t.Context())
	require.NoError(t, err)
	return info
}

func get(t testing.TB, store *s3.Store, key string) []byte {
	t.Helper()
	reader, err := store.Blobs().Open(t.Context(), key)
	require.NoError(t, err)
	defer reader.Close()
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	return content
}

func keys(t testing.TB, store *s3.Store, prefix string) []string {
	t.Helper()
	var found []string
	for info, err := range store.Blobs().List(t.Context(), prefix) {
		require.NoError(t, err)
		found = append(found, info.Key)
	}
	return found
}
