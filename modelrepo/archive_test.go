package modelrepo_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

var sosa = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}

// newArchiveStore returns an empty repository over memory and its blobs.
func newArchiveStore(t *testing.T) (*modelrepo.Store, storage.Blobs) {
	t.Helper()
	blobs := storage.NewMemoryBlobs()
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: blobs, Grace: time.Nanosecond,
		Settle: time.Nanosecond})
	require.NoError(t, err)
	return s, blobs
}

// filled returns a repository with a namespace of several kinds of versions.
func filled(t *testing.T) *modelrepo.Store {
	t.Helper()
	s, _ := newArchiveStore(t)
	ctx := t.Context()
	model := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	empty := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "0.1"}
	require.NoError(t, errors.Join(
		s.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}),
		s.CreateModel(ctx, model, modelrepo.ModelUpdate{LatestVersion: "1.0"}),
		s.CreateVersion(ctx, sosa,
			modelrepo.VersionUpdate{DefaultFormat: "text/turtle", Metadata: modelrepo.Metadata{"author": {"one", "two"}}}),
		s.CreateVersion(ctx, empty, modelrepo.VersionUpdate{}),
		s.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "bare"}, modelrepo.ModelUpdate{}),
	))
	for format, content := range map[string]string{"text/turtle": "# SOSA\n", "a/../b": "{}", "copy": "# SOSA\n", "nothing": ""} {
		_, err := s.Upload(ctx, sosa, format, strings.NewReader(content),
			&modelrepo.UploadOptions{ContentType: "text/turtle; charset=utf-8"})
		require.NoError(t, err)
	}
	return s
}

func exported(t *testing.T, s *modelrepo.Store) []byte {
	t.Helper()
	var archive bytes.Buffer
	require.NoError(t, s.Export(t.Context(), modelrepo.Path{Namespace: "w3c"}, &archive, nil))
	return archive.Bytes()
}

func blobKeys(t *testing.T, blobs storage.Blobs) []string {
	t.Helper()
	var keys []string
	for info, err := range blobs.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

func TestStore_Import_exportsToTheSameArchive(t *testing.T) {
	archive := exported(t, filled(t))
	to, blobs := newArchiveStore(t)
	var seen []modelrepo.ArchiveProgress
	result, err := to.Import(t.Context(), bytes.NewReader(archive),
		&modelrepo.ImportOptions{Progress: func(p modelrepo.ArchiveProgress) { seen = append(seen, p) }})
	require.NoError(t, err)
	require.Equal(t, modelrepo.Imported{Created: 3, Bytes: 9}, result)
	require.Len(t, seen, 3)
	require.Equal(t, 3, seen[2].Versions)
	require.Equal(t, 3, seen[2].Total)
	require.Len(t, blobKeys(t, blobs), 3)
	require.True(t, bytes.Equal(archive, exported(t, to)))
	content, err := to.Open(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "latest"}, "a/../b")
	require.NoError(t, err)
	data, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	require.Equal(t, "{}", string(data))
	require.Equal(t, "text/turtle; charset=utf-8", content.ContentType)

	for range 4 { // nothing of it is anything that collection would take
		_, err = to.Collect(t.Context())
		require.NoError(t, err)
	}
	require.True(t, bytes.Equal(archive, exported(t, to)))
}

func TestStore_Import_againStoresNothing(t *testing.T) {
	archive := exported(t, filled(t))
	to, blobs := newArchiveStore(t)
	_, err := to.Import(t.Context(), bytes.NewReader(archive), nil)
	require.NoError(t, err)
	before := blobKeys(t, blobs)
	result, err := to.Import(t.Context(), bytes.NewReader(archive), nil)
	require.NoError(t, err)
	require.Equal(t, modelrepo.Imported{Identical: 3}, result)
	require.Equal(t, before, blobKeys(t, blobs))
}

func TestStore_Import_replacesContentOnlyWithOverwrite(t *testing.T) {
	archive := exported(t, filled(t))
	to := filled(t)
	_, err := to.Upload(t.Context(), sosa, "text/turtle", strings.NewReader("# other\n"),
		&modelrepo.UploadOptions{Overwrite: true})
	require.NoError(t, err)
	_, err = to.Upload(t.Context(), sosa, "more", strings.NewReader("more"), nil)
	require.NoError(t, err)
	other := exported(t, to)
	_, err = to.Import(t.Context(), bytes.NewReader(archive), nil)
	require.ErrorIs(t, err, modelrepo.ErrContentExists)
	require.True(t, bytes.Equal(other, exported(t, to)))
	result, err := to.Import(t.Context(), bytes.NewReader(archive), &modelrepo.ImportOptions{Overwrite: true})
	require.NoError(t, err)
	require.Equal(t, 1, result.Overwritten)
	require.True(t, bytes.Equal(archive, exported(t, to)))
	for range 4 {
		_, err = to.Collect(t.Context())
		require.NoError(t, err)
	}
	require.True(t, bytes.Equal(archive, exported(t, to)))
}

func TestStore_Import_renamesTheNamespace(t *testing.T) {
	to, _ := newArchiveStore(t)
	result, err := to.Import(t.Context(), bytes.NewReader(exported(t, filled(t))), &modelrepo.ImportOptions{Namespace: "ours"})
	require.NoError(t, err)
	require.Equal(t, 3, result.Created)
	at := sosa
	at.Namespace = "ours"
	version, err := to.Version(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, version.Formats, 4)
	require.Equal(t, modelrepo.Metadata{"author": {"one", "two"}}, version.Metadata)
	_, err = to.Import(t.Context(), strings.NewReader(""), &modelrepo.ImportOptions{Namespace: "metrics"})
	require.ErrorIs(t, err, modelrepo.ErrInvalid)
}

func TestStore_Import_createsAnEmptyNamespace(t *testing.T) {
	from, _ := newArchiveStore(t)
	require.NoError(t, from.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	to, _ := newArchiveStore(t)
	_, err := to.Import(t.Context(), bytes.NewReader(exported(t, from)), nil)
	require.NoError(t, err)
	_, err = to.Namespace(t.Context(), "w3c", nil)
	require.NoError(t, err)
	require.ErrorIs(t, from.Export(t.Context(), modelrepo.Path{Namespace: "none"}, io.Discard, nil), modelrepo.ErrNotFound)
}

func TestStore_ImportDir_readsWhatExportDirWrote(t *testing.T) {
	from, dir := filled(t), t.TempDir()
	for range 2 { // over itself as well
		require.NoError(t, from.ExportDir(t.Context(), modelrepo.Path{Namespace: "w3c"}, dir, nil))
	}
	to, _ := newArchiveStore(t)
	_, err := to.ImportDir(t.Context(), dir, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(exported(t, from), exported(t, to)))

	blobs, err := filepath.Glob(filepath.Join(dir, "blobs/sha256/*"))
	require.NoError(t, err)
	for _, blob := range blobs {
		data, err := os.ReadFile(blob)
		require.NoError(t, err)
		if string(data) != "# SOSA\n" {
			continue
		}
		require.NoError(t, os.WriteFile(blob, []byte("# S0SA\n"), 0o644))
		broken, stored := newArchiveStore(t)
		_, err = broken.ImportDir(t.Context(), dir, nil)
		require.ErrorIs(t, err, modelrepo.ErrDigest)
		_, err = broken.Version(t.Context(), sosa)
		require.ErrorIs(t, err, modelrepo.ErrNotFound)
		require.Empty(t, blobKeys(t, stored))
		require.NoError(t, os.Remove(blob))
		_, err = broken.ImportDir(t.Context(), dir, nil)
		require.ErrorIs(t, err, modelrepo.ErrIncomplete)
		return
	}
	t.Fatal("the content is not in the layout")
}

// file is a file of an archive.
type file struct {
	header *tar.Header
	data   []byte
}

func files(t *testing.T, archive []byte) []file {
	t.Helper()
	var all []file
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		data, err := io.ReadAll(reader)
		require.NoError(t, err)
		all = append(all, file{header, data})
	}
}

func archiveOf(t *testing.T, all []file) []byte {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, f := range all {
		require.NoError(t, writer.WriteHeader(f.header))
		_, err := writer.Write(f.data)
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	return archive.Bytes()
}

func TestStore_Import_readsFilesInAnyOrder(t *testing.T) {
	archive := exported(t, filled(t))
	all := files(t, archive)
	slices.Reverse(all)
	to, blobs := newArchiveStore(t)
	result, err := to.Import(t.Context(), bytes.NewReader(archiveOf(t, all)), nil)
	require.NoError(t, err)
	require.Equal(t, 3, result.Created)
	require.True(t, bytes.Equal(archive, exported(t, to)))
	require.Len(t, blobKeys(t, blobs), 3)
}

func TestStore_Import_refusesATruncatedArchive(t *testing.T) {
	archive := exported(t, filled(t))
	all := files(t, archive)
	for cut := range all {
		to, blobs := newArchiveStore(t)
		_, err := to.Import(t.Context(), bytes.NewReader(archiveOf(t, all[:cut])), nil)
		require.ErrorIs(t, err, modelrepo.ErrIncomplete, "%d files", cut)
		if _, err := to.Version(t.Context(), sosa); err != nil {
			require.ErrorIs(t, err, modelrepo.ErrNotFound)
			require.Empty(t, blobKeys(t, blobs))
		}
		_, err = to.Import(t.Context(), bytes.NewReader(archive), nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(archive, exported(t, to)))
	}
	for _, cut := range []int{100, 600, 5000, len(archive) - 2000} {
		to, _ := newArchiveStore(t)
		_, err := to.Import(t.Context(), bytes.NewReader(archive[:cut]), nil)
		require.ErrorIs(t, err, modelrepo.ErrIncomplete, "%d bytes", cut)
	}
}

func TestStore_Import_refusesLinksAndOtherPaths(t *testing.T) {
	all := files(t, exported(t, filled(t)))
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeReg, Name: "../outside"},
		{Typeflag: tar.TypeReg, Name: "/etc/passwd"},
		{Typeflag: tar.TypeSymlink, Name: "blobs/sha256/link", Linkname: "/etc/passwd"},
		{Typeflag: tar.TypeLink, Name: "index.json", Linkname: "oci-layout"},
		{Typeflag: tar.TypeFifo, Name: "pipe"},
		{Typeflag: tar.TypeReg, Name: "./index.json"},
	} {
		to, _ := newArchiveStore(t)
		_, err := to.Import(t.Context(), bytes.NewReader(archiveOf(t, append(slices.Clone(all), file{header: header}))), nil)
		require.ErrorIs(t, err, modelrepo.ErrInvalid, header.Name)
	}
}

func TestStore_Import_takesAnExportOverHTTP(t *testing.T) {
	from := filled(t)
	server := httptest.NewServer(rest.NewHandler(from, nil))
	defer server.Close()
	client, err := client.New(server.URL, nil)
	require.NoError(t, err)
	var archive bytes.Buffer
	require.NoError(t, client.Export(t.Context(), modelrepo.Path{Namespace: "w3c"}, &archive))
	require.True(t, bytes.Equal(exported(t, from), archive.Bytes()))
	require.ErrorIs(t, client.Export(t.Context(), modelrepo.Path{Namespace: "none"}, io.Discard), modelrepo.ErrNotFound)
	result, err := client.Import(t.Context(), bytes.NewReader(archive.Bytes()), modelrepo.ImportOptions{Namespace: "ours"})
	require.NoError(t, err)
	require.Equal(t, 3, result.Created)
	at := sosa
	at.Namespace = "ours"
	_, err = client.Upload(t.Context(), at, "copy", strings.NewReader("changed"), &modelrepo.UploadOptions{Overwrite: true})
	require.NoError(t, err)
	_, err = client.Import(t.Context(), bytes.NewReader(archive.Bytes()), modelrepo.ImportOptions{Namespace: "ours"})
	require.ErrorIs(t, err, modelrepo.ErrContentExists)
	result, err = client.Import(t.Context(), bytes.NewReader(archive.Bytes()),
		modelrepo.ImportOptions{Namespace: "ours", Overwrite: true})
	require.NoError(t, err)
	require.Equal(t, 1, result.Overwritten)
	_, err = client.Import(t.Context(), strings.NewReader("no archive"), modelrepo.ImportOptions{Namespace: "ours"})
	require.Error(t, err)
}

func TestStore_Import_losesNothingDuringCollection(t *testing.T) {
	archive := exported(t, filled(t))
	to, _ := newArchiveStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	collected := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			_, err = to.Collect(ctx)
		}
		collected <- err
	}()
	for range 30 {
		// With a grace period of zero an import may fail with ErrExpired and is repeated.
		_, err := to.Import(t.Context(), bytes.NewReader(archive), nil)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrExpired)
			continue
		}
		require.True(t, bytes.Equal(archive, exported(t, to)))
		for _, format := range []string{"text/turtle", "a/../b", "copy", "nothing"} {
			require.NoError(t, to.DeleteContent(t.Context(), sosa, format, modelrepo.Condition{}))
		}
		require.NoError(t, to.DeleteVersion(t.Context(), sosa))
	}
	cancel()
	if err := <-collected; err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func FuzzImport(f *testing.F) {
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(f, err)
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	require.NoError(f, errors.Join(s.CreateNamespace(f.Context(), "w3c", modelrepo.NamespaceUpdate{}),
		s.CreateModel(f.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}),
		s.CreateVersion(f.Context(), at, modelrepo.VersionUpdate{})))
	_, err = s.Upload(f.Context(), at, "text/turtle", strings.NewReader("# SOSA\n"), nil)
	require.NoError(f, err)
	var archive bytes.Buffer
	require.NoError(f, s.Export(f.Context(), at, &archive, nil))
	f.Add(archive.Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		blobs := storage.NewMemoryBlobs()
		to, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: blobs})
		require.NoError(t, err)
		if _, err := to.Import(t.Context(), bytes.NewReader(data), nil); err != nil {
			return
		}
		// What was taken can be given back and taken again.
		namespaces, err := to.Namespaces(t.Context(), nil)
		require.NoError(t, err)
		for _, n := range namespaces.Items {
			var again bytes.Buffer
			require.NoError(t, to.Export(t.Context(), modelrepo.Path{Namespace: n.Name}, &again, nil))
			result, err := to.Import(t.Context(), &again, nil)
			require.NoError(t, err)
			require.Zero(t, result.Created+result.Overwritten)
		}
	})
}
