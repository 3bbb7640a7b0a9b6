package disk_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
	"github.com/iotenablers/enablers/storage/storagetest"
)

// put commits a blob.
func put(t testing.TB, store *disk.Store, key, content string) storage.BlobInfo {
	t.Helper()
	info, err := writeBlob(t.Context(), store.Blobs(), key, content)
	require.NoError(t, err)
	return info
}

// writeBlob is put for goroutines and other processes, which cannot end the test.
func writeBlob(ctx context.Context, blobs storage.Blobs, key, content string) (storage.BlobInfo, error) {
	writer, err := blobs.Create(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	if _, err := io.WriteString(writer, content); err != nil {
		return storage.BlobInfo{}, errors.Join(err, writer.Abort())
	}
	return writer.Commit(ctx)
}

// read returns the content of a blob.
func read(t testing.TB, store *disk.Store, key string) string {
	t.Helper()
	reader, err := store.Blobs().Open(t.Context(), key)
	require.NoError(t, err)
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	return string(content)
}

// contentFiles returns the paths of all blob files.
func contentFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	return files
}

func TestStore_keepsItsContentsAfterReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "several", "new", "levels")
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	revision, err := store.Documents().Create(t.Context(), "document", []byte(`{"a": 1}`))
	require.NoError(t, err)
	info := put(t, store, "blob", "content")
	require.NoError(t, store.Close())

	store = open(t, dir)
	doc, err := store.Documents().Get(t.Context(), "document")
	require.NoError(t, err)
	require.Equal(t, storage.Document{Key: "document", Revision: revision, Data: []byte(`{"a": 1}`)}, doc)
	require.Equal(t, "content", read(t, store, "blob"))
	again, err := store.Blobs().Stat(t.Context(), "blob")
	require.NoError(t, err)
	require.Equal(t, info, again)
}

func TestStore_neverReusesARevisionAfterReopening(t *testing.T) {
	dir := t.TempDir()
	seen := make(map[storage.Revision]bool)
	for range 3 {
		store, err := disk.Open(t.Context(), dir, nil)
		require.NoError(t, err)
		revision, err := store.Documents().Create(t.Context(), "document", []byte(`1`))
		require.NoError(t, err)
		require.False(t, seen[revision], "revision %d was given before", revision)
		seen[revision] = true
		require.NoError(t, store.Documents().Delete(t.Context(), "document", revision))
		require.NoError(t, store.Close())
	}
}

func TestStore_Close_refusesLaterCalls(t *testing.T) {
	store, err := disk.Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	put(t, store, "blob", "content")
	reader, err := store.Blobs().Open(t.Context(), "blob")
	require.NoError(t, err)
	writers := make([]storage.BlobWriter, 3)
	for i := range writers {
		writers[i], err = store.Blobs().Create(t.Context(), "new")
		require.NoError(t, err)
	}
	require.NoError(t, store.Close())
	require.NoError(t, store.Close(), "a second Close")

	storagetest.ClosedDocuments(t, store.Documents())
	storagetest.ClosedBlobs(t, store.Blobs())
	_, err = writers[0].Write([]byte("more"))
	require.ErrorIs(t, err, storage.ErrClosed)
	_, err = writers[1].Commit(t.Context())
	require.ErrorIs(t, err, storage.ErrClosed)
	for _, writer := range writers {
		require.NoError(t, writer.Abort())
	}
	content, err := io.ReadAll(reader)
	require.NoError(t, err, "an open reader goes on")
	require.Equal(t, "content", string(content))
	require.NoError(t, reader.Close())
}

func TestOpen_refusesASecondStoreQuickly(t *testing.T) {
	dir := t.TempDir()
	first, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	_, err = disk.Open(t.Context(), dir, &disk.Options{LockTimeout: -1})
	require.ErrorIs(t, err, disk.ErrLocked)
	require.ErrorContains(t, err, dir)
	_, err = disk.Open(t.Context(), dir, &disk.Options{LockTimeout: 60 * time.Millisecond})
	require.ErrorIs(t, err, disk.ErrLocked)
	require.NoError(t, first.Close())
	open(t, dir)
}

func TestBlobs_Delete_removesTheFile(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	put(t, store, "kept", "1")
	put(t, store, "replaced", "2")
	put(t, store, "replaced", "3")
	put(t, store, "deleted", "4")
	require.NoError(t, store.Blobs().Delete(t.Context(), "deleted"))
	aborted, err := store.Blobs().Create(t.Context(), "aborted")
	require.NoError(t, err)
	require.Len(t, contentFiles(t, dir), 3, "two blobs and one being written")
	require.NoError(t, aborted.Abort())
	require.Len(t, contentFiles(t, dir), 2)
}

func TestBlobs_takesNoPathFromAKey(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	store := open(t, dir)
	for _, key := range []string{"../escaped", "/tmp/escaped", "a/../../escaped", "..", "store.db", "escaped\\x"} {
		put(t, store, key, key)
		require.Equal(t, key, read(t, store, key))
	}
	for _, file := range contentFiles(t, dir) {
		require.NotContains(t, file, "escaped")
	}
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestOpen_removesFilesWithoutARecord(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	put(t, store, "kept", "content")
	require.NoError(t, store.Close())

	kept := contentFiles(t, dir)
	require.Len(t, kept, 1)
	litter := filepath.Join(dir, "blobs", "00", "00"+strings.Repeat("ab", 15))
	foreign := filepath.Join(dir, "blobs", "00", "README")
	require.NoError(t, os.MkdirAll(filepath.Dir(litter), 0o700))
	require.NoError(t, os.WriteFile(litter, []byte("half of a bl"), 0o600))
	require.NoError(t, os.WriteFile(foreign, []byte("put here by a user"), 0o600))

	store = open(t, dir)
	require.ElementsMatch(t, append(kept, foreign), contentFiles(t, dir))
	require.Equal(t, "content", read(t, store, "kept"))
}

func TestOpen_keepsBlobsWithoutADatabase(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	put(t, store, "precious", "content")
	require.NoError(t, store.Close())
	require.NoError(t, os.Rename(filepath.Join(dir, "store.db"), filepath.Join(dir, "moved")))

	for range 2 {
		_, err = disk.Open(t.Context(), dir, nil)
		require.ErrorContains(t, err, "store.db had to be created")
		require.Len(t, contentFiles(t, dir), 1)
	}
	require.NoError(t, os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "store.db")))
	require.Equal(t, "content", read(t, open(t, dir), "precious"))
}

func TestBlobs_Open_reportsADamagedFile(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	put(t, store, "blob", "content")
	file := contentFiles(t, dir)[0]

	require.NoError(t, os.Truncate(file, 3))
	_, err := store.Blobs().Open(t.Context(), "blob")
	require.ErrorContains(t, err, `open blob "blob"`)
	require.ErrorContains(t, err, "has 3 bytes, not 7: restore it from a backup")
	require.ErrorIs(t, err, storage.ErrDamaged)

	require.NoError(t, os.Remove(file))
	_, err = store.Blobs().Open(t.Context(), "blob")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, storage.ErrDamaged)
	require.NotErrorIs(t, err, storage.ErrNotFound, "a lost file is damage and not an absent blob")

	put(t, store, "blob", "mended")
	require.Equal(t, "mended", read(t, store, "blob"))
}

func TestOpen_refusesAFolderThatCannotBeAStore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	_, err := disk.Open(t.Context(), file, nil)
	require.ErrorContains(t, err, file)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "store.db"), []byte(strings.Repeat("not a database ", 1000)),
		0o600))
	_, err = disk.Open(t.Context(), dir, nil)
	require.ErrorContains(t, err, "store.db")
}

func TestBlobs_keepsALargeBlobOutOfMemory(t *testing.T) {
	store := open(t, t.TempDir())
	chunk := make([]byte, 256<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	writer, err := store.Blobs().Create(t.Context(), "big")
	require.NoError(t, err)
	for range 128 {
		_, err := writer.Write(chunk)
		require.NoError(t, err)
	}
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	reader, err := store.Blobs().Open(t.Context(), "big")
	require.NoError(t, err)
	size, err := io.Copy(io.Discard, reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	runtime.ReadMemStats(&after)
	require.Equal(t, int64(32<<20), size)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes allocated for a blob of 32 MiB")
}

func TestStore_acceptsTheLongestKey(t *testing.T) {
	store := open(t, t.TempDir())
	key := strings.Repeat("k", storage.MaxKeyLength)
	_, err := store.Documents().Create(t.Context(), key, []byte(`1`))
	require.NoError(t, err)
	put(t, store, key, "content")
	require.Equal(t, "content", read(t, store, key))
}

func TestOpen_letsOnlyTheOwnerReadFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "store")
	put(t, open(t, dir), "blob", "secret")
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has the mode %v", path, info.Mode())
		return nil
	}))
}

func TestOpen_endsItsWaitForTheLockWithTheContext(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = disk.Open(ctx, dir, &disk.Options{LockTimeout: time.Hour})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
