package transfer_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage/disk"
)

// patience ends a test that hangs.
const (
	patience = time.Minute
	pause    = 10 * time.Millisecond
)

const secret = "a secret\n"

// newData returns a folder of an annotator with a document, two blobs and a secret.
func newData(t *testing.T, dir string) string {
	t.Helper()
	store := openData(t, dir)
	_, err := store.Documents().Create(t.Context(), "channels/weather", []byte(`{"id":"weather"}`))
	require.NoError(t, err)
	require.NoError(t, putBlob(t.Context(), store, "file/1", "one"))
	require.NoError(t, putBlob(t.Context(), store, "file/2", strings.Repeat("two", 100_000)))
	require.NoError(t, store.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "encryption-secret"), []byte(secret), 0o600))
	return dir
}

func openData(t *testing.T, dir string) *disk.Store {
	t.Helper()
	store, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func putBlob(ctx context.Context, store *disk.Store, key, content string) error {
	writer, err := store.Blobs().Create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(writer, content); err != nil {
		return err
	}
	_, err = writer.Commit(ctx)
	return err
}

// checkData checks that a folder has what newData has made.
func checkData(t *testing.T, dir string) {
	t.Helper()
	store := openData(t, dir)
	document, err := store.Documents().Get(t.Context(), "channels/weather")
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"weather"}`, string(document.Data))
	for key, content := range map[string]string{"file/1": "one", "file/2": strings.Repeat("two", 100_000)} {
		blob, err := store.Blobs().Open(t.Context(), key)
		require.NoError(t, err)
		data, err := io.ReadAll(blob)
		require.NoError(t, err)
		require.NoError(t, blob.Close())
		require.Equal(t, content, string(data))
	}
	require.NoError(t, store.Close())
	name := filepath.Join(dir, "encryption-secret")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, secret, string(data))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoFileExists(t, filepath.Join(dir, backup.ManifestName))
}

// serve serves backups of a store until the end of the test, or until stop is called.
func serve(t *testing.T, dir string, store *disk.Store) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	part := backup.Of(dir, datafolder.Annotator, store, nil).Part()
	go func() {
		done <- server.Run(ctx, part, server.Part{Announce: func() { close(ready) }, Run: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}})
	}()
	<-ready
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

func takeBackup(t *testing.T, dir, to string) error {
	t.Helper()
	return transfer.Backup(t.Context(), []string{"-data", dir, to}, io.Discard, io.Discard)
}

func restore(t *testing.T, dir, from string) error {
	t.Helper()
	return transfer.Restore(t.Context(), []string{"-data", dir, from}, io.Discard, io.Discard)
}

// entries are the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

func TestBackup_ofAStoppedFolder(t *testing.T) {
	for _, exists := range []bool{false, true} {
		t.Run(fmt.Sprint(exists), func(t *testing.T) {
			above := t.TempDir()
			dir, to, again := newData(t, filepath.Join(above, "data")), filepath.Join(above, "backup"), filepath.Join(above, "again")
			if exists {
				require.NoError(t, os.Mkdir(to, 0o750))
				require.NoError(t, os.Mkdir(again, 0o750))
			}
			require.NoError(t, takeBackup(t, dir, to))
			require.ElementsMatch(t, []string{"backup.json", "blobs", "encryption-secret", "format.json", "store.db"}, entries(t, to))
			require.NoError(t, restore(t, again, to))
			checkData(t, again)
			require.ElementsMatch(t, []string{"again", "backup", "data"}, entries(t, above), "nothing else is left")
			require.ErrorContains(t, takeBackup(t, dir, to), "is not empty")
			require.ErrorContains(t, takeBackup(t, to, filepath.Join(above, "third")), "is a backup itself")
		})
	}
}

func TestBackup_besideAServer(t *testing.T) {
	above := t.TempDir()
	// The path of a socket is shorter.
	dir := newData(t, filepath.Join(above, strings.Repeat("long", 50), "data"))
	store := openData(t, dir)
	stop := serve(t, dir, store)
	info, err := os.Stat(filepath.Join(dir, backup.SocketName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for i := range 2 {
		to, again := filepath.Join(above, fmt.Sprint("backup", i)), filepath.Join(above, fmt.Sprint("again", i))
		require.NoError(t, takeBackup(t, dir, to))
		require.NoError(t, restore(t, again, to))
		checkData(t, again)
	}
	stop()
	require.NoFileExists(t, filepath.Join(dir, backup.SocketName))
	err = takeBackup(t, dir, filepath.Join(above, "locked"))
	require.ErrorIs(t, err, disk.ErrLocked)
	require.ErrorContains(t, err, "serves no backups")
	require.NoDirExists(t, filepath.Join(above, "locked"))
}

func TestBackup_hasWhatWasAcknowledgedBefore(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	store := openData(t, dir)
	serve(t, dir, store)
	ctx, cancel := context.WithCancel(t.Context())
	var acknowledged atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			for i := int64(1); ctx.Err() == nil; i++ {
				if _, err := store.Documents().Create(t.Context(), fmt.Sprintf("claims/%06d", i), []byte(`{}`)); err != nil {
					return err
				}
				if err := putBlob(t.Context(), store, fmt.Sprint("file/replaced/", i%5), fmt.Sprint(i)); err != nil {
					return err
				}
				if i%7 == 0 {
					if err := store.Blobs().Delete(t.Context(), fmt.Sprint("file/replaced/", i%5)); err != nil {
						return err
					}
				}
				acknowledged.Store(i)
			}
			return nil
		}()
	}()
	for i := range 5 {
		to, again := filepath.Join(above, fmt.Sprint("backup", i)), filepath.Join(above, fmt.Sprint("again", i))
		before := acknowledged.Load()
		require.NoError(t, takeBackup(t, dir, to))
		require.NoError(t, restore(t, again, to))
		checkData(t, again)
		restored := openData(t, again)
		for number := int64(1); number <= before; number++ {
			_, err := restored.Documents().Get(t.Context(), fmt.Sprintf("claims/%06d", number))
			require.NoError(t, err, "it was acknowledged before the backup")
		}
		for info, err := range restored.Blobs().List(t.Context(), "file/replaced/") {
			require.NoError(t, err)
			blob, err := restored.Blobs().Open(t.Context(), info.Key)
			require.NoError(t, err)
			data, err := io.ReadAll(blob)
			require.NoError(t, err)
			require.NoError(t, blob.Close())
			require.NotEmpty(t, data)
		}
	}
	cancel()
	require.NoError(t, <-done)
}

func TestBackup_refusesASecondOneAtTheSameTime(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	store := openData(t, dir)
	require.NoError(t, putBlob(t.Context(), store, "file/large", strings.Repeat("x", 32<<20))) // more than sockets buffer
	serve(t, dir, store)
	first, err := backup.Dial(t.Context(), dir)
	require.NoError(t, err)
	_, err = io.WriteString(first, "GET / HTTP/1.1\r\nHost: backup\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(first, make([]byte, 1)) // the archive begins
	require.NoError(t, err)

	require.ErrorContains(t, takeBackup(t, dir, filepath.Join(above, "second")), "another backup of this server is running")
	require.Equal(t, []string{"data"}, entries(t, above))
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return takeBackup(t, dir, filepath.Join(above, "second")) == nil }, patience, pause)
}

func TestBackup_replacesTheSocketOfAKilledServer(t *testing.T) {
	above, err := os.MkdirTemp("", "backup") // a short path
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(above)) })
	dir := newData(t, filepath.Join(above, "data"))
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, backup.SocketName), Net: "unix"})
	require.NoError(t, err)
	left.SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	require.NoError(t, takeBackup(t, dir, filepath.Join(above, "stopped")), "no server runs")
	serve(t, dir, openData(t, dir))
	require.NoError(t, takeBackup(t, dir, filepath.Join(above, "running")))
}

func TestBackup_runsWithoutASocketWhereAFileHasItsName(t *testing.T) {
	dir := newData(t, t.TempDir())
	name := filepath.Join(dir, backup.SocketName)
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	serve(t, dir, openData(t, dir))
	require.FileExists(t, name)
	require.Error(t, takeBackup(t, dir, filepath.Join(t.TempDir(), "backup")))
}

func TestBackup_findsDamageInTheData(t *testing.T) {
	for _, damage := range []struct {
		isLarge bool // the damaged blob; then the answer of the server has begun when the damage is found
		cause   string
	}{{false, "the file is damaged"}, {true, "the log of the server may say why"}} {
		above := t.TempDir()
		dir := newData(t, filepath.Join(above, "data"))
		blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
		require.NoError(t, err)
		for _, name := range blobs {
			info, err := os.Stat(name)
			require.NoError(t, err)
			if (info.Size() > 3) == damage.isLarge {
				flip(t, name, 1)
			}
		}
		require.ErrorContains(t, takeBackup(t, dir, filepath.Join(above, "stopped")), "the file is damaged")
		serve(t, dir, openData(t, dir))
		require.ErrorContains(t, takeBackup(t, dir, filepath.Join(above, "running")), damage.cause)
		require.Equal(t, []string{"data"}, entries(t, above))
	}
}

func TestBackup_refusesWrongArguments(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	for cause, args := range map[string][]string{
		"-data: give the data folder":      {"target"},
		"TARGET: it is missing":            {"-data", dir},
		`unexpected argument "more"`:       {"-data", dir, "target", "more"},
		"has no data of a server":          {"-data", filepath.Join(above, "absent"), filepath.Join(above, "target")},
		"back it up with mongodump":        {"-data", t.TempDir(), filepath.Join(above, "target")},
		"within the data folder":           {"-data", dir, filepath.Join(dir, "backup")},
		"expected a folder or s3://":       {"-data", dir, "gs://bucket"},
		"the bucket is missing":            {"-data", dir, "s3://host"},
		"flag provided but not defined: -": {"-to", dir, "target"},
	} {
		require.ErrorContains(t, transfer.Backup(t.Context(), args, io.Discard, io.Discard), cause)
	}
	require.Equal(t, []string{"data"}, entries(t, above))
	for name, command := range transfer.Commands() {
		var help strings.Builder
		require.NoError(t, command(t.Context(), []string{"-h"}, &help, io.Discard))
		require.Contains(t, help.String(), "usage: enablers "+name+" -data DIR")
	}
}

func TestCommands_showNoSecretOfAMistypedURL(t *testing.T) {
	above := t.TempDir()
	dir, missing := newData(t, filepath.Join(above, "data")), filepath.Join(above, "new")
	for where, shown := range map[string]string{
		"S3://user:hidden@host/bucket":    "S3://…",
		"https://user:hidden@host/bucket": "https://…",
		"user:hidden@s3://host/bucket":    "…://…",
		"s3://user:hidden@host":           "s3://…",
	} {
		for args, cause := range map[[3]string]string{
			{"-data=" + dir, where}:           shown,
			{"-data=" + missing, where}:       shown,
			{"-data=" + dir, "target", where}: "unexpected argument",
			{"-data=" + where, dir}:           "give the data folder",
		} {
			given := slices.DeleteFunc(args[:], func(arg string) bool { return arg == "" })
			for _, command := range transfer.Commands() {
				err := command(t.Context(), given, io.Discard, io.Discard)
				require.ErrorContains(t, err, cause)
				require.NotContains(t, err.Error(), "hidden")
			}
		}
	}
	require.Equal(t, []string{"data"}, entries(t, above))
}

func TestBackup_refusesATargetWithinTheDataByASymbolicLink(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	link := filepath.Join(above, "link")
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	for _, c := range [][2]string{
		{dir, filepath.Join(link, "empty")}, {dir, filepath.Join(link, "new")}, {dir, filepath.Join(link, "new", "below")},
		{link, filepath.Join(dir, "empty")}, {link, filepath.Join(dir, "new")}, {dir, link},
	} {
		require.ErrorContains(t, takeBackup(t, c[0], c[1]), "within the data folder")
	}
	require.ElementsMatch(t, []string{"data", "link"}, entries(t, above))
	require.ElementsMatch(t, []string{"blobs", "empty", "encryption-secret", "format.json", "store.db"}, entries(t, dir))
	// A link out of the data folder leads to a place that is apart.
	require.NoError(t, os.Symlink(above, filepath.Join(dir, "out")))
	require.NoError(t, takeBackup(t, link, filepath.Join(dir, "out", "backup")))
	require.FileExists(t, filepath.Join(above, "backup", backup.ManifestName))
}

func TestBackup_refusesAFolderInWhichARestoreWasCutOff(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".unfinished-1"), 0o700))
	require.ErrorContains(t, takeBackup(t, dir, filepath.Join(above, "backup")), "a restore was cut off")
	require.Equal(t, []string{"data"}, entries(t, above))
}

func TestBackup_ofAFolderOfAnEarlierVersion(t *testing.T) {
	above := t.TempDir()
	dir, again := newData(t, filepath.Join(above, "data")), filepath.Join(above, "again")
	require.NoError(t, os.Remove(filepath.Join(dir, "format.json")))
	require.NoError(t, takeBackup(t, dir, filepath.Join(above, "backup")))
	require.NoFileExists(t, filepath.Join(dir, "format.json"))
	require.NoError(t, restore(t, again, filepath.Join(above, "backup")))
	checkData(t, again)
	require.FileExists(t, filepath.Join(again, "format.json"))
}

func TestBackup_ofAllBlocks(t *testing.T) {
	above := t.TempDir()
	dir, again := filepath.Join(above, "data"), filepath.Join(above, "again")
	require.NoError(t, datafolder.Claim(dir, datafolder.Enablers))
	newData(t, filepath.Join(dir, "annotator"))
	models, err := datafolder.Open(t.Context(), filepath.Join(dir, "modelrepo"), datafolder.ModelRepo)
	require.NoError(t, err)
	require.NoError(t, putBlob(t.Context(), models, "blob/1", "content"))
	require.NoError(t, models.Close())
	require.NoError(t, datafolder.Claim(filepath.Join(dir, "multilink-demo"), datafolder.MultiLink))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "multilink-demo", "token"), []byte("token"), 0o600))

	require.NoError(t, takeBackup(t, dir, filepath.Join(above, "backup")))
	require.NoError(t, restore(t, again, filepath.Join(above, "backup")))
	checkData(t, filepath.Join(again, "annotator"))
	require.ElementsMatch(t, []string{"annotator", "format.json", "modelrepo", "multilink-demo"}, entries(t, again))
	require.ElementsMatch(t, []string{"format.json", "token"}, entries(t, filepath.Join(again, "multilink-demo")))
	restored, err := datafolder.Open(t.Context(), filepath.Join(again, "modelrepo"), datafolder.ModelRepo)
	require.NoError(t, err)
	_, err = restored.Blobs().Stat(t.Context(), "blob/1")
	require.NoError(t, err)
	require.NoError(t, restored.Close())

	require.NoError(t, takeBackup(t, filepath.Join(dir, "annotator"), filepath.Join(above, "one")), "one block of them")
	require.NoError(t, restore(t, filepath.Join(above, "third"), filepath.Join(above, "one")))
	checkData(t, filepath.Join(above, "third"))
}

// flip changes a bit of a file.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	var b [1]byte
	_, err = file.ReadAt(b[:], at)
	require.NoError(t, err)
	b[0] ^= 0x10
	_, err = file.WriteAt(b[:], at)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}
