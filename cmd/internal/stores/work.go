package stores

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockName is the file in Work that is locked while a server uses it, if no store there is.
const lockName = "in-use"

// OpenWork creates the folder Work if it is missing, and reserves it for this process until
// the stores are closed: another process with the same -data is refused.
func (s *Stores) OpenWork() error {
	if s.folders[s.Work] != nil {
		return nil // the store has it
	}
	if err := os.MkdirAll(s.Work, 0o700); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(s.Work, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	s.closers = append(s.closers, file.Close)
	if err := lock(file); err != nil {
		return fmt.Errorf("-data: folder %q is in use by another server (%w); give each server a folder of its own", s.Work, err)
	}
	return nil
}
