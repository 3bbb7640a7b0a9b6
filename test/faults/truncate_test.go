//go:build linux

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// places returns some lengths of a truncated file, in ascending order: the ends, those around
// its pages, and others between.
func places(size int64, most int) []int64 {
	const page = 4096
	made := []int64{0, 1, size - 1, size / 2, page - 1, page, page + 1, 2 * page, 3 * page, 4*page + 1, size - page}
	for i := range int64(most) {
		made = append(made, i*size/int64(most))
	}
	made = slices.DeleteFunc(made, func(at int64) bool { return at < 0 || at >= size })
	slices.Sort(made)
	made = slices.Compact(made)
	for i := 1; len(made) > most; i = (i + 7) % (len(made) - 2) {
		made = slices.Delete(made, 1+i, 2+i) // neither the first nor the last one
	}
	return made
}

// filled returns a folder that a killed server has left, and what it acknowledged.
func filled(t *testing.T, b block) (string, *ledger) {
	t.Helper()
	data, written := dataFolder(t), newLedger()
	s := b.start(t, data)
	written.fill(t, s.kinds, 6)
	s.Kill() // it leaves more behind than an orderly end
	socket := filepath.Join(data, "backup.sock")
	if err := os.Remove(socket); !errors.Is(err, fs.ErrNotExist) { // which os.CopyFS cannot copy
		require.NoError(t, err)
	}
	return data, written
}

// readFiles returns the paths of the files below a folder: those that a start reads, and the
// contents of blobs.
func readFiles(t *testing.T, data string) (read, contents []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.Type().IsRegular():
			return err
		case strings.Contains(path, "/blobs/"):
			contents = append(contents, path[len(data)+1:])
		default:
			read = append(read, path[len(data)+1:])
		}
		return nil
	}))
	return read, contents
}

// TestServersRefuseATruncatedFileByName truncates the files that a start reads, each at many
// places. A server starts with all that it acknowledged, or it names the file and what to do, and
// leaves it as it is.
func TestServersRefuseATruncatedFileByName(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		data, written := filled(t, b)
		names, _ := readFiles(t, data)
		most := 64
		if b.command == "enablers" { // the same files once more, below one folder
			most = count(3, 64)
		}
		for _, name := range names {
			whole, err := os.ReadFile(filepath.Join(data, name))
			require.NoError(t, err)
			refused, started := 0, 0
			for _, at := range places(int64(len(whole)), most) {
				works, err := truncated(t, b, data, name, whole[:at], written)
				require.NoError(t, err, "%s truncated from %d to %d bytes", name, len(whole), at)
				if works {
					started++
				} else {
					refused++
				}
			}
			t.Logf("%s of %d bytes: %d starts were refused, %d had everything", name, len(whole), refused, started)
		}
	})
}

// truncated starts the server over a copy of the folder where a file has other content.
func truncated(t *testing.T, b block, data, name string, left []byte, written *ledger) (works bool, err error) {
	t.Helper()
	broken := dataFolder(t)
	defer func() { _ = os.RemoveAll(filepath.Dir(broken)) }() // there are thousands
	if err := os.CopyFS(broken, os.DirFS(data)); err != nil {
		return false, err
	}
	at := filepath.Join(broken, name)
	if err := os.WriteFile(at, left, 0o600); err != nil {
		return false, err
	}
	s, line, listens := b.try(t, broken, launch{})
	if listens {
		err := written.verify(b.kinds(s.port, data), true) // with the secrets of then
		s.Kill()
		s.calm(t)
		return true, err
	}
	if after, err := os.ReadFile(at); err != nil || !slices.Equal(after, left) {
		return false, fmt.Errorf("the file was changed: %w", errors.Join(err, errors.New(line)))
	}
	for _, part := range []string{filepath.Base(name), "restore"} {
		if !strings.Contains(line, part) {
			return false, fmt.Errorf("the message does not say %q: %s", part, line)
		}
	}
	return false, nil
}

// TestServersServeNoTruncatedContent truncates the files of blobs. A server refuses to serve
// one, and has everything else.
func TestServersServeNoTruncatedContent(t *testing.T) {
	eachBlock(t, func(t *testing.T, b block) {
		data, written := filled(t, b)
		_, names := readFiles(t, data)
		if len(names) == 0 {
			return // it stores documents only
		}
		most, found := 64, 0
		if b.command == "enablers" {
			most = count(4, 64)
		}
		for place := range most {
			broken := dataFolder(t)
			require.NoError(t, os.CopyFS(broken, os.DirFS(data)))
			for _, name := range names {
				info, err := os.Stat(filepath.Join(data, name))
				require.NoError(t, err)
				at := info.Size() * int64(place) / int64(most)
				if place == most-1 {
					at = info.Size() - 1
				}
				require.NoError(t, os.Truncate(filepath.Join(broken, name), max(at, 0)))
			}
			s, line, listens := b.try(t, broken, launch{})
			if !listens {
				require.Contains(t, line, "restore")
				continue
			}
			err := written.verify(s.kinds, true)
			require.Error(t, err, "truncated contents were not found")
			require.NotContains(t, err.Error(), "is not what was written", "it was served as if it were whole")
			require.NotContains(t, err.Error(), "are not file", "it was served as if it were whole")
			require.NotContains(t, err.Error(), errAbsent.Error(), "the record was dropped")
			found++
			s.Kill()
			s.calm(t)
			_ = os.RemoveAll(filepath.Dir(broken))
		}
		require.Positive(t, found, "no start listened")
		t.Logf("%d contents at %d places each: refused when read in %d runs", len(names), most, found)
	})
}
