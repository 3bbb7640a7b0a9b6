//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package peertest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock waits until this caller alone has the file, which it creates if it is
// missing. The end of the process unlocks it as well.
func lock(name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { _ = file.Close() }, nil // which unlocks it
		}
		if err != syscall.EINTR {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
}
