package main

import (
	"errors"
	"syscall"
)

// widen gives a socket buffers that hold what a failover sends again at once.
func widen(_, _ string, raw syscall.RawConn) (err error) {
	const size = 16 << 20
	if outer := raw.Control(func(fd uintptr) {
		err = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, size),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUFFORCE, size))
	}); outer != nil {
		return outer
	}
	return err
}
