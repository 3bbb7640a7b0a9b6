// Package secretfile writes files with secrets in them.
package secretfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write writes a file that only its owner can read, in one step: the file has the new
// content or is unchanged, also after a crash. Its folder must exist.
func Write(name string, data []byte) (err error) {
	dir := filepath.Dir(name)
	file, err := os.CreateTemp(dir, ".secret-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what is left of it has no use
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), name); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	if syncErr := folder.Sync(); syncErr != nil && !errors.Is(syncErr, errors.ErrUnsupported) {
		err = syncErr
	}
	return errors.Join(err, folder.Close())
}
