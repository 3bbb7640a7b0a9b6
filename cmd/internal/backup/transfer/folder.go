package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

// unfinished is in the names of folders that are being written. Servers refuse a folder
// with an entry whose name begins so.
const unfinished = datafolder.Unfinished

// folderOrigin is a backup in a folder.
type folderOrigin struct {
	root *os.Root
}

func openFolder(dir string) (*folderOrigin, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folderOrigin{root}, nil
}

func (f *folderOrigin) Close() error { return f.root.Close() }

// read reads the files that the manifest names. Others are left alone.
func (f *folderOrigin) read(_ context.Context, each func(name string, content io.Reader) error) (manifest, error) {
	return readNamed(f.open, fs.ErrNotExist, each)
}

func (f *folderOrigin) open(name string, read func(content io.Reader) error) (err error) {
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is not a regular file", name)
	}
	if err != nil {
		return err
	}
	return read(file)
}

// folderTarget writes a folder under another name first. Where the folder exists, which
// may be the only one that this user can write to, or the root of a file system, that is
// a folder in it; otherwise a folder beside it.
type folderTarget struct {
	dir     string
	within  bool // the folder exists, and is empty
	stage   string
	root    *os.Root
	folders map[string]bool // below stage
	batch   []*os.File      // written, and not synced yet
	keep    bool            // the manifest
	check   func(stage string) error
	placed  bool // at least one file has its name, perhaps not all

	rename     func(from, to string) error
	syncFolder func(dir string) error
}

// newFolderTarget begins a folder, which must be empty or missing. The files are those of
// a backup if keep is set, and otherwise of a folder that servers use. Check, which may
// be nil, is called before the folder is complete.
func newFolderTarget(dir string, keep bool, check func(stage string) error) (_ *folderTarget, err error) {
	f := &folderTarget{
		dir: dir, folders: map[string]bool{}, keep: keep, check: check, rename: os.Rename, syncFolder: syncFolder,
	}
	if f.within, err = isEmptyFolder(dir); err != nil {
		return nil, err
	}
	if f.within {
		f.stage, err = os.MkdirTemp(dir, unfinished+"*") // of mode 0700
	} else {
		above, name := filepath.Split(dir)
		if err := os.MkdirAll(cmp.Or(above, "."), 0o700); err != nil {
			return nil, err
		}
		f.stage, err = os.MkdirTemp(cmp.Or(above, "."), "."+name+unfinished+"*")
	}
	if err != nil {
		return nil, err
	}
	if f.root, err = os.OpenRoot(f.stage); err != nil {
		return nil, errors.Join(err, os.Remove(f.stage))
	}
	return f, nil
}

// isEmptyFolder reports whether the folder exists. It returns an error unless it is
// empty then.
func isEmptyFolder(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == "lost+found": // of a new file system
		case strings.HasPrefix(name, unfinished):
			return false, fmt.Errorf("folder %q is not empty: an earlier backup or restore that was killed, or one that still runs, "+
				"has left %q; remove that, or give another folder", dir, name)
		default:
			return false, fmt.Errorf("folder %q is not empty, it has %q: give an empty or a new folder, or move that one away", dir, name)
		}
	}
	return true, nil
}

func (f *folderTarget) write(_ context.Context, name string, content io.Reader) (err error) {
	native := filepath.FromSlash(name)
	if folder := filepath.Dir(native); !f.folders[folder] {
		if err := f.root.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		f.folders[folder] = true
	}
	file, err := f.root.OpenFile(native, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	f.batch = append(f.batch, file)
	if _, err = io.Copy(file, content); err == nil && len(f.batch) == batchFiles {
		err = f.sync()
	}
	return err
}

// batchFiles is how many files are synced at one time, which a file system does with
// fewer writes than one after the other. A server on the same disk notices the difference.
const batchFiles = 32

// sync makes the written files durable.
func (f *folderTarget) sync() error {
	errs := make([]error, len(f.batch))
	var all sync.WaitGroup
	for i, file := range f.batch {
		all.Go(func() { errs[i] = errors.Join(file.Sync(), file.Close()) })
	}
	all.Wait()
	f.batch = nil
	return errors.Join(errs...)
}

func (f *folderTarget) finish(ctx context.Context, manifest []byte) error {
	if err := f.sync(); err != nil {
		return err
	}
	if f.check != nil {
		if err := f.check(f.stage); err != nil {
			return err
		}
	}
	if err := syncFolders(f.stage); err != nil {
		return err
	}
	if f.keep {
		if err := f.write(ctx, backup.ManifestName, bytes.NewReader(manifest)); err != nil {
			return err
		}
		if err := errors.Join(f.sync(), syncFolder(f.stage)); err != nil {
			return err
		}
	}
	if err := f.root.Close(); err != nil {
		return err
	}
	if f.within {
		return f.placeFiles()
	}
	return f.placeFolder()
}

// placeFolder gives a new folder its name. After an error it has the one that abort removes.
func (f *folderTarget) placeFolder() error {
	if err := f.rename(f.stage, f.dir); err != nil {
		return err
	}
	err := f.syncFolder(filepath.Dir(f.dir))
	if err == nil {
		return nil
	}
	if back := f.rename(f.dir, f.stage); back != nil {
		err = errors.Join(err, back)
		return fmt.Errorf("the folder may be lost if the machine fails: %w; remove it and begin again", err)
	}
	return err
}

// placeFiles gives the files their names in a folder that was there before.
func (f *folderTarget) placeFiles() error {
	entries, err := os.ReadDir(f.stage)
	if err != nil {
		return err
	}
	// A server refuses the folder as long as the stage is in it. A restore refuses one
	// without the manifest, and earlier versions of servers one with blobs and without
	// store.db.
	last := []string{backup.FormatName, backup.DatabaseName, backup.ManifestName}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(slices.Index(last, a.Name()), slices.Index(last, b.Name()))
	})
	for _, entry := range entries {
		if err := f.rename(filepath.Join(f.stage, entry.Name()), filepath.Join(f.dir, entry.Name())); err != nil {
			return fmt.Errorf("the folder is not complete: %w; empty it and begin again", err)
		}
		f.placed = true
	}
	// The names are durable before the stage is gone.
	if err = errors.Join(f.syncFolder(f.stage), f.syncFolder(f.dir)); err == nil {
		err = os.Remove(f.stage)
	}
	if err == nil {
		if err = f.syncFolder(f.dir); err != nil {
			err = errors.Join(err, os.Mkdir(f.stage, 0o700)) // the mark again
		}
	}
	if err != nil {
		return fmt.Errorf("the folder is not complete: %w; empty it and begin again", err)
	}
	return nil
}

func (f *folderTarget) abort() error {
	for _, file := range f.batch {
		_ = file.Close() // it is removed
	}
	_ = f.root.Close() // closed already when finish has failed
	if f.placed {
		return nil // the stage marks the folder as not complete
	}
	return os.RemoveAll(f.stage)
}

// syncFolders makes the names in all folders durable, and the parents of the topmost.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncFolder(name)
	})
}

// syncFolder makes the names in a folder durable. Windows has no such call.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
