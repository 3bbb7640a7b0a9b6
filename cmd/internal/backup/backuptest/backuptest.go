// Package backuptest checks that the data folder of a command can be backed up beside the
// running command, and restored.
package backuptest

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
	"github.com/iotenablers/enablers/storage/disk"
)

// Start starts a command on a data folder and returns, once it has announced itself,
// what stops it.
type Start func(dir string) (stop func() error)

// Command checks a command whose folder has an owner: a backup beside it and one of the
// stopped folder have the same files, which are all that the folder keeps, and the
// command starts on both when they are restored.
func Command(t *testing.T, owner string, start Start) {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "data")
	stop := start(dir)
	socket, err := os.Stat(filepath.Join(dir, backup.SocketName))
	require.NoError(t, err)
	require.Equal(t, fs.ModeSocket|0o600, socket.Mode())
	take(t, dir, filepath.Join(above, "running"))
	require.NoError(t, stop())
	require.NoFileExists(t, filepath.Join(dir, backup.SocketName))
	take(t, dir, filepath.Join(above, "stopped"))

	kept := regular(t, dir)
	for _, name := range []string{"running", "stopped"} {
		m := manifest(t, filepath.Join(above, name))
		require.Equal(t, owner, m.Owner)
		for _, file := range m.Files {
			delete(kept, file.Name)
			info, err := os.Stat(filepath.Join(above, name, filepath.FromSlash(file.Name)))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode(), file.Name)
		}
		again := filepath.Join(above, name+" again")
		require.NoError(t, transfer.Restore(t.Context(), []string{"-data", again, filepath.Join(above, name)}, io.Discard, io.Discard))
		require.NoError(t, start(again)())
	}
	require.Empty(t, kept, "the folder keeps files that no backup has: name them in cmd/internal/backup/contents.go, "+
		"or here if they are created again")
}

// None checks that a command that stores nothing in a folder has nothing to back up.
func None(t *testing.T, start Start) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	stop := start(dir)
	err := transfer.Backup(t.Context(), []string{"-data", dir, filepath.Join(t.TempDir(), "backup")}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "back it up with mongodump")
	require.NoError(t, stop())
	_, err = backup.Of(dir, "", (*disk.Store)(nil), nil).Begin(t.Context())
	require.ErrorIs(t, err, backup.ErrNoFolder)
}

func take(t *testing.T, dir, to string) {
	t.Helper()
	require.NoError(t, transfer.Backup(t.Context(), []string{"-data", dir, to}, io.Discard, io.Discard))
}

func manifest(t *testing.T, dir string) (m backup.Manifest) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, backup.ManifestName))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// regular are the regular files of a folder but for those that are created again.
func regular(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		const devices = "journal" // of multi-link: it describes the machine
		if err == nil && entry.Type().IsRegular() && path.Base(name) != devices {
			names[name] = true
		}
		return err
	}))
	return names
}
