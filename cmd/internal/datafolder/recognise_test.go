package datafolder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/storage/disk"
)

func TestReadOwner_readsTheMark(t *testing.T) {
	dir := t.TempDir()
	owner, err := datafolder.ReadOwner(dir)
	require.NoError(t, err)
	require.Empty(t, owner)
	require.NoError(t, datafolder.Claim(dir, datafolder.MultiLink))
	owner, err = datafolder.ReadOwner(dir)
	require.NoError(t, err)
	require.Equal(t, datafolder.MultiLink, owner)
	for _, damaged := range []string{"", "{", `{"format": 1}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "format.json"), []byte(damaged), 0o600))
		_, err = datafolder.ReadOwner(dir)
		require.ErrorContains(t, err, "read format.json of folder")
	}
}

func TestRecognise_namesTheBlockOfAnOldFolder(t *testing.T) {
	store, err := disk.Open(t.Context(), oldFolder(t), nil)
	require.NoError(t, err)
	defer store.Close()
	block, err := datafolder.Recognise(store)
	require.NoError(t, err)
	require.Equal(t, datafolder.Annotator, block)
	_, err = store.Documents().Create(t.Context(), "node", []byte(`{}`))
	require.NoError(t, err)
	block, err = datafolder.Recognise(store)
	require.NoError(t, err)
	require.Empty(t, block, "it may be that of two")

	empty, err := disk.Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	defer empty.Close()
	block, err = datafolder.Recognise(empty)
	require.NoError(t, err)
	require.Empty(t, block)
}
