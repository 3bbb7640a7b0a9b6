package disk_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func TestBlobs_Create_leavesOutTheMD5ThatIsOfNoUse(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	contents := map[string]string{"small": "content", "large": strings.Repeat("content", 1<<18)}
	for key, content := range contents {
		info, err := writeBlob(storage.OnlySHA256(t.Context()), store.Blobs(), key, content)
		require.NoError(t, err)
		sum := sha256.Sum256([]byte(content))
		require.Equal(t, hex.EncodeToString(sum[:]), info.SHA256)
		require.Empty(t, info.MD5)
	}
	require.NotEmpty(t, put(t, store, "another", "content").MD5)
	require.NoError(t, store.Close())
	store, err = disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for key, content := range contents {
		info, err := store.Blobs().Stat(t.Context(), key)
		require.NoError(t, err)
		require.Empty(t, info.MD5)
		require.Equal(t, int64(len(content)), info.Size)
		require.Equal(t, content, read(t, store, key))
	}
}
