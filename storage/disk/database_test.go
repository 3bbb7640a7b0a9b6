package disk_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/disk"
)

// database returns the path of a folder's database.
func database(dir string) string { return filepath.Join(dir, "store.db") }

// newFolder returns a folder that a closed store with one document has left.
func newFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	_, err = store.Documents().Create(t.Context(), "document", []byte(`1`))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return dir
}

// leaveUnfinished leaves what earlier versions left of a first start on a full
// disk: the first bytes of a database, and nothing beside it.
func leaveUnfinished(t *testing.T, dir string, size int64) {
	t.Helper()
	empty, err := os.ReadFile(filepath.Join("testdata", "begun.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(database(dir), empty[:size], 0o600))
}

func TestOpen_refusesATruncatedDatabase(t *testing.T) {
	dir := newFolder(t)
	whole, err := os.ReadFile(database(dir))
	require.NoError(t, err)
	page := os.Getpagesize()
	sizes := []int{0, 1, 16, 79, 80, 81, 1023, 1024}
	for at := page; at < 8*page; at += page {
		sizes = append(sizes, at-1, at, at+1)
	}
	refused := 0
	for _, size := range sizes {
		require.NoError(t, os.WriteFile(database(dir), whole[:size], 0o600))
		store, err := disk.Open(t.Context(), dir, nil)
		if err == nil { // only free pages are gone
			_, err := store.Documents().Get(t.Context(), "document")
			require.NoError(t, err, "%d bytes", size)
			require.NoError(t, store.Close())
			require.Greater(t, size, 4*page)
			continue
		}
		refused++
		require.ErrorContains(t, err, "store.db: ", "%d bytes", size)
		require.ErrorContains(t, err, "restore store.db and blobs from a backup", "%d bytes", size)
		left, err := os.ReadFile(database(dir))
		require.NoError(t, err)
		require.Equal(t, whole[:size], left, "a refused file stays as it is")
	}
	require.Greater(t, refused, 12)
	require.NoError(t, os.WriteFile(database(dir), whole, 0o600))
	_, err = open(t, dir).Documents().Get(t.Context(), "document")
	require.NoError(t, err, "the backup")
}

func TestOpen_opensADatabaseWithOneTornMetaPage(t *testing.T) {
	for i := range 2 {
		dir := newFolder(t)
		file, err := os.OpenFile(database(dir), os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = file.WriteAt(make([]byte, 64), int64(i*os.Getpagesize()+16))
		require.NoError(t, err)
		require.NoError(t, file.Close())
		open(t, dir)
	}
}

func TestOpen_refusesADatabaseWithoutMetaPages(t *testing.T) {
	dir := newFolder(t)
	require.NoError(t, os.WriteFile(database(dir), make([]byte, 64<<10), 0o600))
	_, err := disk.Open(t.Context(), dir, nil)
	require.ErrorContains(t, err, "is no database, or both its meta pages are damaged")
	require.ErrorContains(t, err, "from a backup")
}

func TestOpen_refusesADatabaseWithZeroPages(t *testing.T) {
	dir := newFolder(t)
	info, err := os.Stat(database(dir))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(database(dir), int64(2*os.Getpagesize())))
	require.NoError(t, os.Truncate(database(dir), info.Size()))
	_, err = disk.Open(t.Context(), dir, nil)
	require.ErrorContains(t, err, "store.db is damaged")
	_, err = disk.Open(t.Context(), dir, &disk.Options{LockTimeout: -1})
	require.NotErrorIs(t, err, disk.ErrLocked, "the refused file is not kept open")
}

// TestOpen_namesADamagedPage damages each page behind the meta pages in several ways. A damaged
// page that Open reads is an error with the remedy, and any other is one of the call that reads it.
func TestOpen_namesADamagedPage(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	for i := range 20 {
		put(t, store, fmt.Sprintf("blob %d %s", i, strings.Repeat("k", 400)), "content")
		_, err := store.Documents().Create(t.Context(), fmt.Sprintf("document %d", i), []byte(`"`+strings.Repeat("d", 700)+`"`))
		require.NoError(t, err)
	}
	require.NoError(t, store.Close())
	whole, err := os.ReadFile(database(dir))
	require.NoError(t, err)
	size, refused := os.Getpagesize(), 0
	for page := 2; page*size < len(whole); page++ {
		for name, pattern := range map[string][]byte{"zeros": make([]byte, size), "ones": bytes.Repeat([]byte{0xFF}, size),
			"elements": bytes.Repeat([]byte{0xFF}, size-16)} {
			damaged := bytes.Clone(whole)
			copy(damaged[(page+1)*size-len(pattern):], pattern) // with its header, or behind that
			require.NoError(t, os.WriteFile(database(dir), damaged, 0o600))
			store, err := disk.Open(t.Context(), dir, nil)
			if err != nil {
				refused++
				require.ErrorContains(t, err, "store.db is damaged", "%s of page %d", name, page)
				require.ErrorContains(t, err, "restore store.db and blobs from a backup")
				continue
			}
			_, err = store.Documents().List(t.Context(), "", "", 100)
			if err == nil {
				_, err = store.Documents().Create(t.Context(), "another", []byte(`1`))
			}
			if err != nil && !strings.Contains(err.Error(), "damaged") {
				t.Fatalf("%s of page %d: %v", name, page, err)
			}
			require.NoError(t, store.Close())
		}
	}
	require.Positive(t, refused)
	require.NoError(t, os.WriteFile(database(dir), whole, 0o600))
	require.Equal(t, "content", read(t, open(t, dir), "blob 7 "+strings.Repeat("k", 400)))
	require.Len(t, contentFiles(t, dir), 20, "no file of a blob was removed")
}

func TestOpen_replacesWhatAnInterruptedFirstStartLeft(t *testing.T) {
	for _, size := range []int64{0, 4096, 8191, 8192, 12288, 16383, 16384} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := t.TempDir()
			leaveUnfinished(t, dir, size)
			store := open(t, dir)
			_, err := store.Documents().Create(t.Context(), "document", []byte(`1`))
			require.NoError(t, err)
		})
	}
}

func TestOpen_keepsAnUnfinishedDatabaseBesideBlobs(t *testing.T) {
	for _, size := range []int64{0, 8192, 16384} {
		dir := t.TempDir()
		store, err := disk.Open(t.Context(), dir, nil)
		require.NoError(t, err)
		put(t, store, "precious", "content")
		require.NoError(t, store.Close())
		leaveUnfinished(t, dir, size)
		_, err = disk.Open(t.Context(), dir, nil)
		require.ErrorContains(t, err, "store.db", "%d bytes", size)
		require.Len(t, contentFiles(t, dir), 1)
	}
}

func TestOpen_refusesAnEmptyDatabaseInAUsedFolder(t *testing.T) {
	dir := newFolder(t)
	require.NoError(t, os.Truncate(database(dir), 0))
	_, err := disk.Open(t.Context(), dir, nil)
	require.ErrorContains(t, err, "store.db: is empty, but a store was here")
}

// TestOpen_leavesOneStoreWhenManyStartAtOnce opens an empty folder, and one
// with the rest of an interrupted first start, many times at once.
func TestOpen_leavesOneStoreWhenManyStartAtOnce(t *testing.T) {
	for _, begin := range []func(dir string){
		func(string) {},
		func(dir string) { leaveUnfinished(t, dir, 8192) },
	} {
		for range 10 {
			dir := t.TempDir()
			begin(dir)
			stores := make([]*disk.Store, 8)
			errs := make([]error, len(stores))
			var all sync.WaitGroup
			for i := range stores {
				all.Go(func() {
					stores[i], errs[i] = disk.Open(t.Context(), dir, &disk.Options{LockTimeout: 60 * time.Millisecond})
				})
			}
			all.Wait()
			var winner *disk.Store
			for i, err := range errs {
				if err != nil {
					require.ErrorIs(t, err, disk.ErrLocked)
					continue
				}
				require.Nil(t, winner, "two stores have the folder open")
				winner = stores[i]
			}
			require.NotNil(t, winner)
			_, err := winner.Documents().Create(t.Context(), "document", []byte(`1`))
			require.NoError(t, err)
			require.NoError(t, winner.Close())
			again, err := disk.Open(t.Context(), dir, nil)
			require.NoError(t, err)
			_, err = again.Documents().Get(t.Context(), "document")
			require.NoError(t, err)
			require.NoError(t, again.Close())
			litter, err := filepath.Glob(filepath.Join(dir, "store.db.new-*"))
			require.NoError(t, err)
			require.Empty(t, litter)
		}
	}
}
