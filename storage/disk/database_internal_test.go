package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCreateDatabase_leavesTheStoreOfAFasterProcess is of a process that has seen no
// database, and found one with blobs beside it when it came to make its own.
func TestCreateDatabase_leavesTheStoreOfAFasterProcess(t *testing.T) {
	dir := t.TempDir()
	store, err := Open(t.Context(), dir, nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	before, err := os.Stat(filepath.Join(dir, databaseName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, blobsName, "7f"), nil, 0o600))

	require.NoError(t, createDatabase(dir))
	after, err := os.Stat(filepath.Join(dir, databaseName))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))

	require.NoError(t, os.Remove(filepath.Join(dir, databaseName)))
	require.ErrorIs(t, createDatabase(dir), errNoRecords)
}
