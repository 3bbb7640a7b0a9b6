package transfer_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

// newBackup returns a backup of newData.
func newBackup(t *testing.T) string {
	t.Helper()
	above := t.TempDir()
	to := filepath.Join(above, "backup")
	require.NoError(t, takeBackup(t, newData(t, filepath.Join(above, "data")), to))
	return to
}

// files are the regular files below a folder, relative to it.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// refused checks that a backup is refused and that nothing is written.
func refused(t *testing.T, from, cause string) {
	t.Helper()
	above := t.TempDir()
	require.ErrorContains(t, restore(t, filepath.Join(above, "data"), from), cause)
	require.Empty(t, entries(t, above))
}

// edit changes the manifest of a backup.
func edit(t *testing.T, dir string, change func(m map[string]any)) {
	t.Helper()
	name := filepath.Join(dir, backup.ManifestName)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(data, &m))
	change(m)
	data, err = json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, data, 0o600))
}

func TestRestore_refusesADamagedFile(t *testing.T) {
	from := newBackup(t)
	for _, name := range files(t, from) {
		path := filepath.Join(from, name)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		for what, damage := range map[string]func(){
			"flipped bit":    func() { flip(t, path, int64(len(good))/2) },
			"truncated file": func() { require.NoError(t, os.Truncate(path, int64(len(good))-1)) },
			"longer file":    func() { require.NoError(t, os.WriteFile(path, append(bytes.Clone(good), 0), 0o600)) },
			"missing file":   func() { require.NoError(t, os.Remove(path)) },
		} {
			t.Run(what+" "+filepath.Base(name), func(t *testing.T) {
				damage()
				refused(t, from, "")
				require.NoError(t, os.WriteFile(path, good, 0o600))
			})
		}
	}
	require.NoError(t, restore(t, filepath.Join(t.TempDir(), "data"), from))
}

func TestRestore_refusesAWrongManifest(t *testing.T) {
	one := func(m map[string]any) map[string]any { return m["files"].([]any)[0].(map[string]any) }
	for cause, change := range map[string]func(m map[string]any){
		"a newer version":     func(m map[string]any) { m["format"], m["more"] = 2, true },
		"unknown field":       func(m map[string]any) { m["more"] = true },
		"format: expected 1":  func(m map[string]any) { m["format"] = 0 },
		"is not known":        func(m map[string]any) { m["owner"] = "coffee" },
		"has no such file":    func(m map[string]any) { one(m)["name"] = "etc/passwd" },
		"not that of a file":  func(m map[string]any) { one(m)["name"] = "../store.db" },
		"sha256: expected":    func(m map[string]any) { one(m)["sha256"] = "ff" },
		"is negative":         func(m map[string]any) { one(m)["size"] = -1 },
		"listed twice":        func(m map[string]any) { m["files"] = append(m["files"].([]any), one(m)) },
		"files: there are":    func(m map[string]any) { m["files"] = nil },
		"time: it is missing": func(m map[string]any) { delete(m, "time") },
	} {
		t.Run(cause, func(t *testing.T) {
			from := newBackup(t)
			edit(t, from, change)
			refused(t, from, cause)
		})
	}
}

func TestRestore_refusesWhatIsNoBackup(t *testing.T) {
	refused(t, newData(t, t.TempDir()), "it has no backup.json: it is not a backup, or an incomplete one")
	refused(t, t.TempDir(), "it has no backup.json")
	refused(t, filepath.Join(t.TempDir(), "absent"), "no such file")
	empty := filepath.Join(t.TempDir(), "empty.tar")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	refused(t, empty, "it has no backup.json")
}

func TestRestore_refusesAFolderThatIsNotEmpty(t *testing.T) {
	from := newBackup(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600))
	require.ErrorContains(t, restore(t, dir, from), `is not empty, it has "notes": give an empty or a new folder`)
	require.Equal(t, []string{"notes"}, entries(t, dir))

	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".unfinished-1"), 0o700))
	require.ErrorContains(t, restore(t, dir, from), `has left ".unfinished-1"; remove that`)
}

// send returns the archive that a server sends over REST.
func send(t *testing.T, dir string) []byte {
	t.Helper()
	store := openData(t, dir)
	web := httptest.NewServer(backup.Of(dir, datafolder.Annotator, store, nil).Handler())
	defer web.Close()
	answer, err := http.Get(web.URL)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, answer.Header.Get("Content-Disposition"), `filename="annotator-`)
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return data
}

func TestRestore_readsTheArchiveOfRESTAndRefusesATruncatedOne(t *testing.T) {
	data := send(t, newData(t, t.TempDir()))
	name := filepath.Join(t.TempDir(), "backup.tar")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, restore(t, again, name))
	checkData(t, again)

	const places = 64
	end := bytes.LastIndexByte(data, '}') // of the manifest
	for i := range places {
		require.NoError(t, os.WriteFile(name, data[:end*i/places], 0o600))
		refused(t, name, "")
	}
	require.NoError(t, os.WriteFile(name, data[:end], 0o600))
	refused(t, name, "")
}

func TestRestore_refusesAnArchiveThatIsNotABackup(t *testing.T) {
	data := send(t, newData(t, t.TempDir()))
	// rewrite copies the archive and puts files around it.
	rewrite := func(before, after []tar.Header) string {
		var made bytes.Buffer
		to, from := tar.NewWriter(&made), tar.NewReader(bytes.NewReader(data))
		for i := range before {
			require.NoError(t, to.WriteHeader(&before[i]))
		}
		for {
			header, err := from.Next()
			if err != nil {
				break
			}
			require.NoError(t, to.WriteHeader(header))
			_, err = io.Copy(to, from)
			require.NoError(t, err)
		}
		for i := range after {
			require.NoError(t, to.WriteHeader(&after[i]))
		}
		require.NoError(t, to.Close())
		name := filepath.Join(t.TempDir(), "backup.tar")
		require.NoError(t, os.WriteFile(name, made.Bytes(), 0o600))
		return name
	}
	for _, wrong := range []struct {
		header tar.Header
		cause  string
	}{
		{tar.Header{Typeflag: tar.TypeReg, Name: "../outside"}, "is not that of a file below the folder"},
		{tar.Header{Typeflag: tar.TypeReg, Name: "/outside"}, "is not that of a file below the folder"},
		{tar.Header{Typeflag: tar.TypeReg, Name: "a/../b"}, "is not that of a file below the folder"},
		{tar.Header{Typeflag: tar.TypeReg, Name: `a\b`}, "is not that of a file below the folder"},
		{tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("a/", 200) + "b"}, "has more than 255 bytes"},
		{tar.Header{Typeflag: tar.TypeSymlink, Name: "blobs", Linkname: "/tmp"}, "is not a file but of type"},
		{tar.Header{Typeflag: tar.TypeLink, Name: "token", Linkname: "/etc/passwd"}, "is not a file but of type"},
		{tar.Header{Typeflag: tar.TypeDir, Name: "blobs"}, "is not a file but of type"},
		{tar.Header{Typeflag: tar.TypeReg, Name: "notes"}, `file "notes": no folder of a server has such a file`},
		{tar.Header{Typeflag: tar.TypeReg, Name: "blobs/aa/notes"}, `file "blobs/aa/notes": no folder of a server has such a file`},
		{tar.Header{Typeflag: tar.TypeReg, Name: "credentials.json"}, `file "credentials.json" is not in backup.json`},
		{tar.Header{Typeflag: tar.TypeReg, Name: "store.db"}, `file "store.db" is there twice`},
	} {
		refused(t, rewrite([]tar.Header{wrong.header}, nil), wrong.cause)
	}
	refused(t, rewrite(nil, []tar.Header{{Typeflag: tar.TypeReg, Name: "late"}}), "comes after backup.json")
}

func TestRestore_refusesAnUnknownNameBeforeItReadsOn(t *testing.T) {
	var made bytes.Buffer
	to := tar.NewWriter(&made)
	require.NoError(t, to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "notes", Size: 1 << 40}))
	name := filepath.Join(t.TempDir(), "backup.tar")
	require.NoError(t, os.WriteFile(name, made.Bytes(), 0o600))
	refused(t, name, `file "notes": no folder of a server has such a file`)
}

func TestRestore_refusesANewerFormatAndAnotherOwner(t *testing.T) {
	for content, cause := range map[string]string{
		`{"owner":"annotator","format":1000}`: "a newer version of annotator wrote format 1000",
		`{"owner":"modelrepo","format":1}`:    "it is the folder of modelrepo",
	} {
		above := t.TempDir()
		dir := newData(t, filepath.Join(above, "data"))
		store := openData(t, dir)
		serve(t, dir, store)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "format.json"), []byte(content), 0o600))
		require.NoError(t, takeBackup(t, dir, filepath.Join(above, "backup")))
		refused(t, filepath.Join(above, "backup"), cause)
	}
}

func TestRestore_refusesAStoreWithoutTheFileOfABlob(t *testing.T) {
	from := newBackup(t)
	edit(t, from, func(m map[string]any) {
		var kept []any
		for _, f := range m["files"].([]any) {
			if !strings.HasPrefix(f.(map[string]any)["name"].(string), "blobs/") {
				kept = append(kept, f)
			}
		}
		m["files"] = kept
	})
	refused(t, from, `open blob "file/`)
}
