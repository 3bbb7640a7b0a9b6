package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// unfinishedPrefix begins the names under which databases are created, and those of
// the copies in snapshots.
const unfinishedPrefix = databaseName + ".new-"

// remedy is the advice to an operator whose database cannot be used.
const remedy = "restore " + databaseName + " and " + blobsName +
	" from a backup, or move both away if nothing was ever stored there"

// openDatabase opens the database of the folder, and creates it if it is
// missing. bbolt maps the file into memory, and a missing page ends the process
// with SIGBUS; so the file is examined before, under the lock.
func openDatabase(ctx context.Context, dir string, lockTimeout time.Duration) (_ *bbolt.DB, err error) {
	name := filepath.Join(dir, databaseName)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := createDatabase(dir); err != nil {
			return nil, err
		}
	}
	deadline := time.Now().Add(lockTimeout)
	var file *os.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil { // bbolt panics on a damaged page
			unlockFile(file) // the mapping, which stays, would keep the lock
			err = errors.Join(damagedDatabase(cause), file.Close())
		}
	}()
	database, err := bbolt.Open(name, 0o600, &bbolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bbolt.FreelistMapType,
		OpenFile: func(string, int, os.FileMode) (_ *os.File, err error) {
			file, err = openExamined(ctx, dir, deadline)
			return file, err
		},
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", databaseName, err)
	}
	return database, nil
}

// createDatabase creates a database under another name and renames it when it
// is complete and synced. So after an interruption store.db is complete or
// missing. When two processes do this at the same time, one of the databases
// stays.
func createDatabase(dir string) error {
	// The records are gone and the sweep would remove every blob.
	name := filepath.Join(dir, databaseName)
	contents := contentFolder{path: filepath.Join(dir, blobsName)}
	if empty, err := contents.isEmpty(); err != nil {
		return err
	} else if !empty {
		if _, there := os.Lstat(name); there == nil {
			return nil // another process was faster and has stored data
		}
		return errNoRecords
	}
	made, err := makeDatabase(dir)
	if err != nil {
		return fmt.Errorf("create %s: %w", databaseName, err)
	}
	defer func() { _ = os.Remove(made) }() // a second name of the database, or not needed
	err = os.Link(made, name)              // unlike Rename it replaces nothing
	if err == nil {
		return syncFolder(dir)
	}
	if _, there := os.Lstat(name); there == nil {
		return nil // another process was faster
	}
	// A file system without hard links, such as FAT. Two simultaneous first starts
	// cannot be distinguished here.
	if err := os.Rename(made, name); err != nil {
		return fmt.Errorf("create %s: %w", databaseName, err)
	}
	return syncFolder(dir)
}

// errNoRecords is for blobs whose keys are lost.
var errNoRecords = errors.New(blobsName + " holds files, but " + databaseName +
	" had to be created: restore it or remove both")

// makeDatabase creates a database without records and returns its name.
func makeDatabase(dir string) (name string, err error) {
	file, err := os.CreateTemp(dir, unfinishedPrefix+"*") // of mode 0600
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // if it stays, the next Open removes it
		}
	}()
	if err := file.Close(); err != nil {
		return "", err
	}
	database, err := bbolt.Open(file.Name(), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(createBuckets(database), database.Close()) // each commit is synced
}

// removeUnfinished removes the databases of interrupted first starts, the copies of
// interrupted snapshots, and marks that were not finished. A process that is creating a
// database then finds this one in its place.
func removeUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, unfinishedPrefix) || strings.HasPrefix(name, unfinishedOwner) {
			_ = os.Remove(filepath.Join(dir, entry.Name())) // the next Open tries again
		}
	}
	return err
}

// openExamined opens the file of the database, locks it and examines it.
func openExamined(ctx context.Context, dir string, deadline time.Time) (*os.File, error) {
	name := filepath.Join(dir, databaseName)
	for {
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		again, err := examineLocked(ctx, dir, file, deadline)
		if err == nil && !again {
			return file, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
}

// examineLocked locks the file and examines it. It returns again if the name
// refers to another file by then.
func examineLocked(ctx context.Context, dir string, file *os.File, deadline time.Time) (again bool, err error) {
	if err := lockFile(ctx, file, deadline); err != nil {
		return false, err
	}
	name := filepath.Join(dir, databaseName)
	locked, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(name)
	if err != nil || !os.SameFile(locked, named) {
		return err == nil, err
	}
	state, err := examine(file)
	if err != nil || state == wholeFile {
		return false, err
	}
	if state == emptyFile {
		// The first Open creates the folder of blobs before it returns. If that
		// folder exists, the file has lost its content.
		if _, err := os.Lstat(filepath.Join(dir, blobsName)); !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("is empty, but a store was here: %s", remedy)
		}
	}
	if !locksFiles {
		return false, errors.New("was left by an interrupted first start; nothing was ever stored in it: move it away")
	}
	return true, replaceDatabase(dir)
}

// replaceDatabase replaces a file in which nothing was ever stored. The file is
// locked, so a process that waits for the lock finds that the name refers to
// another file.
func replaceDatabase(dir string) error {
	contents := contentFolder{path: filepath.Join(dir, blobsName)}
	if empty, err := contents.isEmpty(); err != nil {
		return err
	} else if !empty {
		return errNoRecords
	}
	made, err := makeDatabase(dir)
	if err != nil {
		return err
	}
	if err := os.Rename(made, filepath.Join(dir, databaseName)); err != nil {
		return errors.Join(err, os.Remove(made))
	}
	return syncFolder(dir)
}
