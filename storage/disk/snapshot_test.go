package disk_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// copySnapshot writes the files of a snapshot into a new folder, and checks their sizes
// and digests.
func copySnapshot(t *testing.T, snapshot *disk.Snapshot) (dir string, names []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "copy")
	for file, err := range snapshot.Files(t.Context()) {
		require.NoError(t, err)
		name := filepath.Join(dir, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		reader, err := file.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		require.Len(t, content, int(file.Size))
		if file.SHA256 != "" {
			digest := sha256.Sum256(content)
			require.Equal(t, file.SHA256, hex.EncodeToString(digest[:]))
		}
		require.NoError(t, os.WriteFile(name, content, 0o600))
		names = append(names, file.Name)
	}
	return dir, names
}

// putMany commits blobs without content, several at a time, so that they share transactions.
func putMany(t *testing.T, store *disk.Store, key string, count int) {
	t.Helper()
	const together = 50
	failures := make(chan error, together)
	var writers sync.WaitGroup
	for first := range together {
		writers.Go(func() {
			for i := first; i < count; i += together {
				if _, err := writeBlob(t.Context(), store.Blobs(), fmt.Sprintf(key, i), ""); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	writers.Wait()
	require.Empty(t, failures)
}

// litter lists the files of a folder but for those that a closed store without
// snapshots has.
func litter(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "store.db.new-*"))
	require.NoError(t, err)
	return found
}

func TestStore_Snapshot_keepsTheStateOfItsMoment(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, &disk.Options{Owner: "test"})
	require.NoError(t, err)
	_, err = store.Documents().Create(t.Context(), "document", []byte(`1`))
	require.NoError(t, err)
	putMany(t, store, "many/%03d", 600) // several pages of records
	put(t, store, "kept", "kept")
	put(t, store, "replaced", "before")
	put(t, store, "deleted", "deleted")

	snapshot, err := store.Snapshot(t.Context())
	require.NoError(t, err)
	for i := range 3 {
		put(t, store, "replaced", fmt.Sprint("after ", i))
	}
	require.NoError(t, store.Blobs().Delete(t.Context(), "deleted"))
	put(t, store, "deleted", "once more")
	put(t, store, "new", "new")
	_, err = store.Documents().Create(t.Context(), "new", []byte(`2`))
	require.NoError(t, err)
	require.Len(t, contentFiles(t, dir), 604+2, "a file that the snapshot does not have is removed at once")

	to, names := copySnapshot(t, snapshot)
	require.Len(t, names, 603+2)
	require.Equal(t, "store.db", names[0])
	require.Equal(t, "format.json", names[len(names)-1])
	copied, err := disk.Open(t.Context(), to, &disk.Options{Owner: "test"})
	require.NoError(t, err)
	defer copied.Close()
	require.Equal(t, "before", read(t, copied, "replaced"))
	require.Equal(t, "deleted", read(t, copied, "deleted"))
	require.Equal(t, "kept", read(t, copied, "kept"))
	_, err = copied.Blobs().Stat(t.Context(), "new")
	require.ErrorIs(t, err, storage.ErrNotFound)
	_, err = copied.Documents().Get(t.Context(), "new")
	require.ErrorIs(t, err, storage.ErrNotFound)

	require.NotEmpty(t, litter(t, dir))
	require.NoError(t, snapshot.Close())
	require.NoError(t, snapshot.Close())
	require.Empty(t, litter(t, dir))
	require.Len(t, contentFiles(t, dir), 604)
	require.Equal(t, "after 2", read(t, store, "replaced"))
	require.NoError(t, store.Close())
}

func TestStore_Snapshot_isOneAtATime(t *testing.T) {
	store := open(t, t.TempDir())
	first, err := store.Snapshot(t.Context())
	require.NoError(t, err)
	_, err = store.Snapshot(t.Context())
	require.ErrorIs(t, err, disk.ErrSnapshot)
	require.NoError(t, first.Close())
	second, err := store.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Close(), "it closes the snapshot")
	for _, err := range second.Files(t.Context()) {
		require.ErrorIs(t, err, storage.ErrClosed)
	}
	require.NoError(t, second.Close())
	_, err = store.Snapshot(t.Context())
	require.ErrorIs(t, err, storage.ErrClosed)
}

func TestStore_Snapshot_stopsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Snapshot(ctx)
	require.ErrorIs(t, err, context.Canceled)
	snapshot, err := store.Snapshot(t.Context())
	require.NoError(t, err)
	defer snapshot.Close()
	var last error
	for _, err := range snapshot.Files(ctx) {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
}

func TestOpen_removesWhatASnapshotOfAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	put(t, store, "blob", "before")
	snapshot, err := store.Snapshot(t.Context())
	require.NoError(t, err)
	put(t, store, "blob", "after")
	killed := t.TempDir()
	require.NoError(t, os.CopyFS(killed, os.DirFS(dir)))
	require.NotEmpty(t, litter(t, killed))
	require.Len(t, contentFiles(t, killed), 2)
	require.NoError(t, snapshot.Close())

	again := open(t, killed)
	require.Equal(t, "after", read(t, again, "blob"))
	require.Empty(t, litter(t, killed))
	require.Len(t, contentFiles(t, killed), 1)
}

func TestSnapshot_Files_namesABlobWithoutItsFile(t *testing.T) {
	for change, damage := range map[string]func(file string) error{
		"missing":   os.Remove,
		"truncated": func(file string) error { return os.Truncate(file, 1) },
	} {
		t.Run(change, func(t *testing.T) {
			dir := t.TempDir()
			store := open(t, dir)
			put(t, store, "the/blob", "content")
			require.NoError(t, damage(contentFiles(t, dir)[0]))
			snapshot, err := store.Snapshot(t.Context())
			require.NoError(t, err)
			defer snapshot.Close()
			var failure error
			for _, err := range snapshot.Files(t.Context()) {
				failure = err
			}
			require.ErrorContains(t, failure, `read blob "the/blob"`)
		})
	}
}

func TestStore_Snapshot_hasWhatWasAcknowledgedBeforeIt(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const writers, rounds = 4, 8
	var acknowledged [writers]atomic.Int64 // the number of the last document and blob
	var running sync.WaitGroup
	failures := make(chan error, writers)
	for w := range writers {
		running.Go(func() {
			for i := int64(1); ctx.Err() == nil; i++ {
				// Long enough for the database to grow beyond its mapping.
				text := fmt.Sprintf(`{"number":%d,"filler":%q}`, i, strings.Repeat("x", 2000))
				_, err := store.Documents().Create(ctx, fmt.Sprintf("%d/%06d", w, i), []byte(text))
				if err == nil {
					_, err = writeBlob(ctx, store.Blobs(), fmt.Sprint(w), fmt.Sprint(i)) // replaces the last one
				}
				if err == nil && i%3 == 0 {
					err = store.Blobs().Delete(ctx, fmt.Sprint(w))
				}
				if err != nil {
					if ctx.Err() == nil {
						failures <- err
					}
					return
				}
				acknowledged[w].Store(i)
			}
		})
	}
	for round := range rounds {
		var before [writers]int64
		for w := range writers {
			before[w] = acknowledged[w].Load()
		}
		snapshot, err := store.Snapshot(t.Context())
		require.NoError(t, err)
		to, _ := copySnapshot(t, snapshot)
		require.NoError(t, snapshot.Close())
		copied := open(t, to)
		for w := range writers {
			found, err := copied.Documents().List(t.Context(), fmt.Sprint(w, "/"), "", 0)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(found), int(before[w]), "round %d", round)
		}
		for info, err := range copied.Blobs().List(t.Context(), "") {
			require.NoError(t, err)
			require.NotEmpty(t, read(t, copied, info.Key))
		}
		require.NoError(t, copied.Close())
	}
	cancel()
	running.Wait()
	require.Empty(t, failures)
	require.Empty(t, litter(t, dir))
	require.LessOrEqual(t, len(contentFiles(t, dir)), writers*2, "nothing is kept for the snapshots")
}
