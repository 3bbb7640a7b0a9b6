package disk

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// contentFolder holds the bytes of blobs: one file each, in subfolders that
// are named after the first byte of the identifier.
type contentFolder struct {
	path string

	mu     sync.Mutex
	synced [256]bool // the subfolders whose names are known to be durable
}

// create opens a new, empty file for writing.
func (c *contentFolder) create() (*os.File, contentID, error) {
	var id contentID
	rand.Read(id[:]) // never fails
	if err := c.makeSubfolder(id); err != nil {
		return nil, contentID{}, err
	}
	file, err := os.OpenFile(c.file(id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, contentID{}, err
	}
	return file, id, nil
}

// open opens a file for reading.
func (c *contentFolder) open(id contentID) (*os.File, error) {
	return os.Open(c.file(id))
}

// sync makes the name of a file durable.
func (c *contentFolder) sync(id contentID) error {
	return syncFolder(filepath.Dir(c.file(id)))
}

// remove removes a file that no record points to. A failure is not reported:
// the blob is deleted anyway, and the next Open removes the file.
func (c *contentFolder) remove(id contentID) {
	_ = os.Remove(c.file(id))
}

// file returns the path of a file.
func (c *contentFolder) file(id contentID) string {
	name := id.String()
	return filepath.Join(c.path, name[:2], name)
}

// makeSubfolder creates the subfolder of a file, once for each.
func (c *contentFolder) makeSubfolder(id contentID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.synced[id[0]] {
		return nil
	}
	if err := makeFolder(filepath.Dir(c.file(id))); err != nil {
		return err
	}
	// Also if it exists: the process that created it may not have synced it.
	if err := syncFolder(c.path); err != nil {
		return err
	}
	c.synced[id[0]] = true
	return nil
}

// isEmpty reports whether there is nothing in the folder, or no folder.
func (c *contentFolder) isEmpty() (bool, error) {
	entries, err := os.ReadDir(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

// sweep removes the content files that are not referenced. Files with other
// names than those of create are kept.
func (c *contentFolder) sweep(referenced map[contentID]struct{}) error {
	subfolders, err := os.ReadDir(c.path)
	if err != nil {
		return err
	}
	for _, subfolder := range subfolders {
		if !subfolder.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(c.path, subfolder.Name()))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			id, ok := parseContentID(entry.Name())
			if !ok || entry.Name()[:2] != subfolder.Name() {
				continue
			}
			if _, keep := referenced[id]; keep {
				continue
			}
			if err := os.Remove(c.file(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeFolder creates a folder and its missing parents, each made durable in its
// parent. An existing folder is kept unchanged.
func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		info, statErr := os.Stat(path)
		if statErr != nil {
			return statErr
		}
		if !info.IsDir() {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable. Windows has no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
