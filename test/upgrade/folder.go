package upgrade

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/*/*.tar.gz testdata/*/*.json
var testdata embed.FS

// Folder unpacks an archive of testdata, such as "undivided/annotator", and
// returns the folder, which is the test's. Each pair of texts replaces
// the first by the second in every file. Both have one length, since a database refers
// to places in its file.
func Folder(t testing.TB, archive string, replacements ...string) string {
	t.Helper()
	packed, err := testdata.Open("testdata/" + archive + ".tar.gz")
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	unzipped, err := gzip.NewReader(packed)
	require.NoError(t, err)
	folder := t.TempDir()
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		require.NoError(t, err)
		name, err := filepath.Localize(filepath.ToSlash(filepath.Clean(header.Name)))
		require.NoError(t, err)
		name = filepath.Join(folder, name)
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(name, 0o700))
			continue
		}
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		for i := 0; i < len(replacements); i += 2 {
			require.Len(t, replacements[i+1], len(replacements[i]))
			content = bytes.ReplaceAll(content, []byte(replacements[i]), []byte(replacements[i+1]))
		}
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
}
