package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/storage/disk"
)

// Stopped is the source of a folder on which no server runs. Its stores are locked.
type Stopped struct{ *Source }

// Close closes the stores.
func (s *Stopped) Close() error { return closeAll(s.config.Stores) }

func closeAll(stores map[string]*disk.Store) error {
	var errs []error
	for _, store := range stores {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// OpenStopped opens the stores of a folder. It creates none. It returns [disk.ErrLocked]
// when a server runs on it. The caller closes the source.
func OpenStopped(ctx context.Context, dir string) (_ *Stopped, err error) {
	if Exists(filepath.Join(dir, ManifestName)) {
		return nil, fmt.Errorf("folder %q is a backup itself: copy it, or restore it", dir)
	}
	if err := datafolder.CheckComplete(dir); err != nil {
		return nil, err
	}
	owner, err := findOwner(ctx, dir)
	if err != nil {
		return nil, err
	}
	folders := Folders(owner)
	if folders == nil {
		return nil, fmt.Errorf("folder %q is that of %.40q, which this version does not know", dir, owner)
	}
	stores := map[string]*disk.Store{}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(stores))
		}
	}()
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		below := filepath.Join(dir, folder)
		if !Exists(filepath.Join(below, DatabaseName)) {
			continue
		}
		marked, err := datafolder.ReadOwner(below)
		if err == nil && marked != "" && marked != folders[folder] {
			err = fmt.Errorf("folder %q is that of %.40q, not of %s", below, marked, folders[folder])
		}
		if err != nil {
			return nil, err
		}
		store, err := disk.Open(ctx, below, nil) // without an owner it changes no format
		if err != nil {
			return nil, err
		}
		stores[folder] = store
	}
	if len(stores) == 0 {
		return nil, noStore(dir)
	}
	return &Stopped{NewSource(Config{Dir: dir, Owner: owner, Stores: stores})}, nil
}

// findOwner returns the owner of a folder, by its records if an earlier version has left it.
func findOwner(ctx context.Context, dir string) (owner string, err error) {
	if _, err := os.Stat(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", noStore(dir)
		}
		return "", err
	}
	if owner, err = datafolder.ReadOwner(dir); owner != "" || err != nil {
		return owner, err
	}
	blocks, _ := findLayout(datafolder.Enablers)
	for _, b := range blocks.below {
		if Exists(filepath.Join(dir, b.folder, DatabaseName)) {
			return datafolder.Enablers, nil
		}
	}
	if !Exists(filepath.Join(dir, DatabaseName)) {
		return "", noStore(dir)
	}
	store, err := disk.Open(ctx, dir, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	owner, err = datafolder.Recognise(store)
	if err == nil && owner == "" {
		err = fmt.Errorf("folder %q has no %s and no records that say whose it is: start its server once, which writes that file",
			dir, FormatName)
	}
	return owner, err
}

func noStore(dir string) error {
	return fmt.Errorf("folder %q has no data of a server. A server with its data in MongoDB or S3 has no folder: "+
		"back it up with mongodump, or with the tools of the bucket; what is in memory ends with the server", dir)
}

// Exists reports whether there is a file, or anything else, of that name.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
