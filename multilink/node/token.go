package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LoadToken reads the token that a file holds, and generates one into it if there is
// no such file: fresh says so. Only the owner can read a file that it makes, which is
// whole or not there, also after a crash.
func LoadToken(name string) (token string, fresh bool, err error) {
	data, err := os.ReadFile(name)
	if err == nil {
		token = strings.TrimSpace(string(data))
		if token == "" {
			return "", false, fmt.Errorf("load token from %q: it is empty", name)
		}
		return token, false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("load token: %w", err)
	}
	token = rand.Text()
	if err := writeSecret(name, token+"\n"); err != nil {
		return "", false, fmt.Errorf("store a new token in %q: %w", name, err)
	}
	return token, true, nil
}

// writeSecret writes a file in one step, with mode 0600.
func writeSecret(name, text string) (err error) {
	dir := filepath.Dir(name)
	file, err := os.CreateTemp(dir, ".token-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what is left of it is of no use to anybody
		}
	}()
	_, err = file.WriteString(text)
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
