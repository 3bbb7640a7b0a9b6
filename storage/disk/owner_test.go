package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/disk"
)

func mark(dir string) string { return filepath.Join(dir, "format.json") }

func TestOpen_checksNothingWithoutAnOwner(t *testing.T) {
	dir := newFolder(t)
	require.NoFileExists(t, mark(dir))
	require.NoError(t, os.WriteFile(mark(dir), []byte(`{"owner": "other", "format": 9}`), 0o600))
	open(t, dir)
}

func TestOpen_leavesAFolderOfAnotherOwner(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(mark(dir), []byte(`{"owner": "other", "format": 1}`), 0o600))
	_, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
	require.ErrorIs(t, err, disk.ErrOwner)
	require.ErrorContains(t, err, "it is the folder of other, and this is this")
	require.NoFileExists(t, database(dir))
}

func TestOpen_refusesANewerFormat(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(mark(dir), []byte(`{"owner": "this", "format": 2, "new": true}`), 0o600))
	_, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
	require.ErrorIs(t, err, disk.ErrOwner)
	require.ErrorContains(t, err, "a newer version of this wrote format 2, and this one reads up to 1")
}

func TestOpen_refusesADamagedMark(t *testing.T) {
	for _, text := range []string{"", "{", `{"owner": ""}`, `{"owner": "this"}`, `[]`} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(mark(dir), []byte(text), 0o600))
		_, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "this"})
		require.ErrorContains(t, err, "format.json does not say whose folder this is", "%q", text)
	}
}

func TestOpen_adoptDecidesOnAFolderWithoutAnOwner(t *testing.T) {
	dir := newFolder(t)
	foreign := errors.New("foreign")
	calls := 0
	adopt := func(err error) *disk.Options {
		return &disk.Options{Owner: "this", Adopt: func(store *disk.Store) error {
			calls++
			_, getErr := store.Documents().Get(t.Context(), "document")
			require.NoError(t, getErr)
			return err
		}}
	}
	_, err := disk.Open(t.Context(), dir, adopt(foreign))
	require.ErrorIs(t, err, foreign)
	require.NoFileExists(t, mark(dir))
	for range 2 {
		store, err := disk.Open(t.Context(), dir, adopt(nil))
		require.NoError(t, err)
		require.NoError(t, store.Close())
	}
	require.Equal(t, 2, calls, "an owned folder is not adopted again")
	text, err := os.ReadFile(mark(dir))
	require.NoError(t, err)
	require.JSONEq(t, `{"owner": "this", "format": 1}`, string(text))
}

func TestMarkOwner_marksAFolderWithoutAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	require.NoError(t, disk.MarkOwner(dir, "this"))
	require.NoError(t, disk.MarkOwner(dir, "this"))
	require.ErrorIs(t, disk.MarkOwner(dir, "other"), disk.ErrOwner)
	require.NoFileExists(t, database(dir))
}
