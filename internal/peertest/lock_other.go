//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package peertest

import (
	"errors"
	"fmt"
)

// lock fails: there is no lock here that the end of a process takes away.
func lock(name string) (unlock func(), err error) {
	return nil, fmt.Errorf("lock %s: %w", name, errors.ErrUnsupported)
}
