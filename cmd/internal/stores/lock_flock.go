//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package stores

import (
	"os"
	"syscall"
)

// lock locks the file until it is closed.
func lock(file *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}
