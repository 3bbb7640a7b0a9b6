package transfer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

func TestFolderTarget_refusedUntilEverythingIsInPlace(t *testing.T) {
	cut := errors.New("cut off")
	for owner, names := range map[string][]string{
		datafolder.Annotator: {"access-token", "blobs/aa/1", "encryption-secret", "format.json", "store.db"},
		datafolder.Enablers:  {"access-token", "annotator/store.db", "format.json", "modelrepo/store.db"},
	} {
		for _, isKilled := range []bool{false, true} {
			for moves := range len(names) + 1 {
				dir := t.TempDir()
				to, err := newFolderTarget(dir, false, nil)
				require.NoError(t, err)
				for _, name := range names {
					content := "content"
					if name == "format.json" {
						content = `{"owner": "` + owner + `", "format": 1}`
					}
					require.NoError(t, to.write(t.Context(), name, strings.NewReader(content)))
				}
				left := moves
				to.rename = func(from, to string) error {
					if left == 0 {
						return cut
					}
					left--
					return os.Rename(from, to)
				}
				err = to.finish(t.Context(), nil)
				if moves == len(names) {
					require.NoError(t, err)
					require.NoError(t, datafolder.CheckComplete(dir))
					continue
				}
				require.ErrorIs(t, err, cut)
				if !isKilled {
					require.NoError(t, to.abort())
				}
				if moves == 0 && !isKilled {
					requireEntries(t, dir, 0)
					continue
				}
				requireEntries(t, dir, moves+1)
				_, err = datafolder.Open(t.Context(), dir, owner)
				require.ErrorContains(t, err, "a restore was cut off")
				require.ErrorContains(t, datafolder.Claim(dir, owner), "a restore was cut off")
				requireEntries(t, dir, moves+1)
				if _, err := os.Lstat(filepath.Join(dir, "store.db")); err == nil {
					require.FileExists(t, filepath.Join(dir, "format.json"))
				}
			}
		}
	}
}

func TestFolderTarget_leavesNoCompleteFolderWhenItsNameIsNotDurable(t *testing.T) {
	broken := errors.New("the disk is broken")
	for name, c := range map[string]struct {
		exists bool
		syncs  int // that succeed
	}{"new folder": {false, 0}, "empty folder": {true, 0}, "empty folder, after the mark is removed": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "backup")
			if c.exists {
				require.NoError(t, os.Mkdir(dir, 0o700))
			}
			to, err := newFolderTarget(dir, false, nil)
			require.NoError(t, err)
			require.NoError(t, to.write(t.Context(), "store.db", strings.NewReader("content")))
			left := c.syncs
			to.syncFolder = func(string) error {
				if left == 0 {
					return broken
				}
				left--
				return nil
			}
			require.ErrorIs(t, to.finish(t.Context(), nil), broken)
			require.NoError(t, to.abort())
			if !c.exists {
				requireEntries(t, above, 0)
				return
			}
			require.ErrorContains(t, datafolder.CheckComplete(dir), "a restore was cut off")
		})
	}
}

func TestFolderTarget_saysThatAFolderKeptItsName(t *testing.T) {
	broken := errors.New("the disk is broken")
	dir := filepath.Join(t.TempDir(), "backup")
	to, err := newFolderTarget(dir, false, nil)
	require.NoError(t, err)
	require.NoError(t, to.write(t.Context(), "store.db", strings.NewReader("content")))
	to.syncFolder = func(string) error { return broken }
	to.rename = func(from, name string) error {
		if from == dir {
			return broken
		}
		return os.Rename(from, name)
	}
	require.ErrorContains(t, to.finish(t.Context(), nil), "remove it and begin again")
	require.NoError(t, to.abort())
}

// requireEntries checks how many entries a folder has.
func requireEntries(t *testing.T, dir string, count int) {
	t.Helper()
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, count)
}
