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

// requireEntries checks how many entries a folder has.
func requireEntries(t *testing.T, dir string, count int) {
	t.Helper()
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, count)
}
