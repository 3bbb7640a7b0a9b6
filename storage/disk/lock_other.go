//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package disk

import (
	"context"
	"os"
	"time"
)

// locksFiles reports whether lockFile locks the file.
const locksFiles = false

// lockFile leaves locking to bbolt, whose lock comes after the file is examined.
func lockFile(context.Context, *os.File, time.Time) error { return nil }

// unlockFile does nothing: the lock ends with the process.
func unlockFile(*os.File) {}
