package oci_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo/oci"
)

// quiet is a visitor that reads everything.
type quiet struct{}

func (quiet) Index(oci.Index) error { return nil }

func (quiet) Blob(_ oci.Descriptor, content io.Reader) error {
	_, err := io.Copy(io.Discard, content)
	return err
}

func TestParseIndex_refusesInvalidIndexes(t *testing.T) {
	good := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		`{"schemaVersion":2,"manifests":[{"digest":"sha256:` + good + `","size":1}]}`: "",
		`{"schemaVersion":1,"manifests":[]}`:                                          "schema version 1",
		`{"schemaVersion":2,"mediaType":"text/plain"}`:                                `media type "text/plain"`,
		`[]`: "cannot unmarshal",
		`{"schemaVersion":2,"manifests":[{"digest":"sha256:` + good + `","size":-1}]}`:     "its size is -1",
		`{"schemaVersion":2,"manifests":[{"digest":"sha256:../` + good[3:] + `"}]}`:        "expected sha256:",
		`{"schemaVersion":2,"manifests":[{"digest":"sha512:` + good + `"}]}`:               "expected sha256:",
		`{"schemaVersion":2,"manifests":[{"digest":"sha256:` + good[1:] + `A","size":1}]}`: "expected sha256:",
	} {
		_, err := oci.ParseIndex([]byte(text))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, oci.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

func TestWriter_Blob_refusesOtherBytesThanAnnounced(t *testing.T) {
	d := oci.Descriptor{Digest: oci.Digest([]byte("hello")), Size: 5}
	for _, wrong := range []string{"hell", "hello!", "jello"} {
		w, err := oci.NewTarWriter(io.Discard, oci.Index{})
		require.NoError(t, err)
		require.ErrorIs(t, w.Bytes(d, []byte(wrong)), oci.ErrDigest, wrong)

		dir := t.TempDir()
		w, err = oci.NewDirWriter(dir, oci.Index{})
		require.NoError(t, err)
		require.ErrorIs(t, w.Bytes(d, []byte(wrong)), oci.ErrDigest, wrong)
		require.NoError(t, w.Abort())
		require.NoError(t, w.Close())
		left, err := filepath.Glob(filepath.Join(dir, "blobs/sha256/*"))
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoFileExists(t, filepath.Join(dir, "index.json"))
	}
}

func TestReadDir_followsNoLinkOutOfTheFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "index.json")
	require.NoError(t, os.WriteFile(outside, []byte(`{"schemaVersion":2,"manifests":[]}`), 0o644))
	dir := t.TempDir()
	require.ErrorIs(t, oci.ReadDir(dir, quiet{}), oci.ErrIncomplete)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
	require.ErrorIs(t, oci.ReadDir(dir, quiet{}), oci.ErrIncomplete)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "index.json")))
	require.ErrorContains(t, oci.ReadDir(dir, quiet{}), "escapes")
	require.NoError(t, os.Remove(filepath.Join(dir, "index.json")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "index.json"), 0o755))
	require.ErrorIs(t, oci.ReadDir(dir, quiet{}), oci.ErrInvalid)
}

func FuzzReadTar(f *testing.F) {
	layer, manifest, index := hello()
	var archive bytes.Buffer
	w, err := oci.NewTarWriter(&archive, index)
	require.NoError(f, err)
	require.NoError(f, write(w, layer, manifest, index))
	f.Add(archive.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) { _ = oci.ReadTar(bytes.NewReader(data), quiet{}) })
}

func FuzzParseManifest(f *testing.F) {
	_, manifest, _ := hello()
	f.Add(manifest)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := oci.ParseManifest(data)
		if err != nil {
			require.ErrorIs(t, err, oci.ErrInvalid)
			return
		}
		for _, d := range append(m.Layers, m.Config) {
			require.Len(t, d.Digest, len("sha256:")+64)
			require.GreaterOrEqual(t, d.Size, int64(0))
		}
	})
}
