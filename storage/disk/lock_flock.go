//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// locksFiles reports whether lockFile locks the file.
const locksFiles = true

// lockFile locks the file as bbolt does: the lock belongs to the open file, so
// bbolt gets it at once afterwards. The wait ends with the context.
func lockFile(ctx context.Context, file *os.File, deadline time.Time) error {
	const pause = 50 * time.Millisecond
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return os.NewSyscallError("flock", err)
		case time.Until(deadline) <= pause:
			return ErrLocked
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unlockFile releases the lock before the file is closed.
func unlockFile(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // closing it comes next
}
