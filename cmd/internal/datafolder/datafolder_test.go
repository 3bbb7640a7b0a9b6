package datafolder_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/storage/disk"
)

func blocks() []string {
	return []string{datafolder.Annotator, datafolder.ModelRepo, datafolder.FLCollector, datafolder.APIManager, datafolder.MultiLink}
}

// oldFolder returns a copy of the folder that an annotator without owners has
// left. Like a backup made of files alone, it has no folder of blobs.
func oldFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "annotator"))))
	return dir
}

func TestOpen_refusesTheFolderOfAnotherBlock(t *testing.T) {
	for _, owner := range blocks() {
		dir := filepath.Join(t.TempDir(), "new", owner)
		for range 2 {
			store, err := datafolder.Open(t.Context(), dir, owner)
			require.NoError(t, err)
			require.NoError(t, store.Close())
		}
		for _, other := range append(blocks(), datafolder.Enablers) {
			if other == owner {
				continue
			}
			_, err := datafolder.Open(t.Context(), dir, other)
			require.ErrorIs(t, err, disk.ErrOwner)
			require.ErrorContains(t, err, "it is the folder of "+owner+", and this is "+other+"; give "+other+" a folder of its own")
			require.ErrorIs(t, datafolder.Claim(dir, datafolder.Enablers), disk.ErrOwner)
		}
	}
}

func TestOpen_writesTheOwnerIntoAnOldFolder(t *testing.T) {
	dir := oldFolder(t)
	store, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err)
	channels, err := store.Documents().List(t.Context(), "channels/", "", 0)
	require.NoError(t, err)
	require.Len(t, channels, 1)
	require.NoError(t, store.Close())
	text, err := os.ReadFile(filepath.Join(dir, "format.json"))
	require.NoError(t, err)
	require.JSONEq(t, `{"owner": "annotator", "format": 1}`, string(text))
}

func TestOpen_refusesTheOldFolderOfAnotherBlock(t *testing.T) {
	dir := oldFolder(t)
	for _, other := range blocks()[1:] {
		_, err := datafolder.Open(t.Context(), dir, other)
		require.ErrorIs(t, err, disk.ErrOwner)
		require.ErrorContains(t, err, `it holds "channels/weather", as the folder of annotator does, and this is `+other)
		require.NoFileExists(t, filepath.Join(dir, "format.json"))
	}
	require.ErrorIs(t, datafolder.Claim(dir, datafolder.Enablers), disk.ErrOwner)
	store, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err, "it stays usable")
	require.NoError(t, store.Close())
}

func TestOpen_recognisesAnOldFolderByItsBlobs(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	writer, err := store.Blobs().Create(t.Context(), "blob/1")
	require.NoError(t, err)
	_, err = io.WriteString(writer, "content")
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Close())
	_, err = datafolder.Open(t.Context(), dir, datafolder.FLCollector)
	require.ErrorContains(t, err, "as the folder of modelrepo does")
}

func TestOpen_acceptsAnOldFolderOfTwoBlocksForEither(t *testing.T) {
	dir := oldFolder(t)
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	_, err = store.Documents().Create(t.Context(), "node", []byte(`{}`))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	store, err = datafolder.Open(t.Context(), dir, datafolder.MultiLink)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	_, err = datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.ErrorIs(t, err, disk.ErrOwner)
}

func TestClaim_acceptsAFolderAboveBlocks(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		require.NoError(t, datafolder.Claim(dir, datafolder.Enablers))
		store, err := datafolder.Open(t.Context(), filepath.Join(dir, "annotator"), datafolder.Annotator)
		require.NoError(t, err)
		require.NoError(t, store.Close())
	}
	_, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.ErrorContains(t, err, "it is the folder of enablers, and this is annotator")
}

func TestClaim_acceptsAnOldFolderThatABlockShares(t *testing.T) {
	dir := oldFolder(t)
	store, err := disk.Open(t.Context(), filepath.Join(dir, "annotator"), nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, datafolder.Claim(dir, datafolder.Enablers))
	_, err = datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.ErrorContains(t, err, "it is the folder of enablers, and this is annotator")
}

func TestCheckComplete_refusesAFolderInWhichARestoreWasCutOff(t *testing.T) {
	for _, owner := range append(blocks(), datafolder.Enablers) {
		dir := t.TempDir()
		marker := filepath.Join(dir, ".unfinished-1")
		require.NoError(t, os.Mkdir(marker, 0o700))
		cause := `it has ".unfinished-1", so it is not complete: a restore was cut off: remove everything in the folder and restore again`
		_, err := datafolder.Open(t.Context(), dir, owner)
		require.ErrorContains(t, err, cause)
		require.ErrorContains(t, datafolder.Claim(dir, owner), cause)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing is written")
		require.NoError(t, os.Remove(marker))
		require.NoError(t, datafolder.Claim(dir, owner))
	}
}

func TestOpen_refusesANewerFormat(t *testing.T) {
	for _, block := range append(blocks(), datafolder.Enablers) {
		dir := t.TempDir()
		text := `{"owner": "` + block + `", "format": 99}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, "format.json"), []byte(text), 0o600))
		_, err := datafolder.Open(t.Context(), dir, block)
		require.ErrorIs(t, err, disk.ErrOwner)
		require.ErrorContains(t, err, "a newer version of "+block+" wrote format 99, and this one reads up to 1; run that version")
		require.ErrorIs(t, datafolder.Claim(dir, block), disk.ErrOwner)
		require.NoFileExists(t, filepath.Join(dir, "store.db"))
	}
}

func TestOpen_migratesAnOldFolder(t *testing.T) {
	dir := oldFolder(t)
	full, calls := errors.New("full"), 0
	step := func(ctx context.Context, store *disk.Store) error {
		if calls++; calls == 1 {
			return full
		}
		_, err := store.Documents().Create(ctx, "channels/made", []byte(`{}`))
		return err
	}
	_, err := datafolder.OpenIn(t.Context(), dir, datafolder.Annotator, 2, step)
	require.ErrorIs(t, err, full)
	_, err = datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.ErrorIs(t, err, disk.ErrOwner, "the records are not all of format 1")
	for range 2 {
		store, err := datafolder.OpenIn(t.Context(), dir, datafolder.Annotator, 2, step)
		require.NoError(t, err)
		_, err = store.Documents().Get(t.Context(), "channels/made")
		require.NoError(t, err)
		require.NoError(t, store.Close())
	}
	require.Equal(t, 2, calls)
	_, err = datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.ErrorContains(t, err, "a newer version of annotator wrote format 2, and this one reads up to 1")
}
