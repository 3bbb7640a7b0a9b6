package secretfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/secretfile"
)

func TestWrite_createsAFileForItsOwnerOnly(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(name, []byte("an older one that every user can read"), 0o644))
	require.NoError(t, secretfile.Write(name, []byte("new\n")))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestWrite_leavesNothingWhenItFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(name, "not empty"), 0o700))
	require.Error(t, secretfile.Write(name, []byte("secret")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.ErrorIs(t, secretfile.Write(filepath.Join(dir, "missing", "secret"), nil), os.ErrNotExist)
}
