//go:build unix

package h1

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// Reuses reports whether connections are used for more than one request here.
const Reuses = true

// probe looks whether a connection that should be idle is.
type probe struct {
	raw  syscall.RawConn
	look func(fd uintptr) bool
	err  error
	n    int
}

func newProbe(c net.Conn) *probe {
	system, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return nil
	}
	p := &probe{raw: raw}
	p.look = func(fd uintptr) bool {
		var one [1]byte
		p.n, p.err = syscall.Read(int(fd), one[:])
		return true // whatever it was: do not wait
	}
	return p
}

// quiet reports whether there is nothing to read, and no end either.
func (p *probe) quiet() bool {
	if err := p.raw.Read(p.look); err != nil {
		return false
	}
	return p.n <= 0 && (errors.Is(p.err, syscall.EAGAIN) || errors.Is(p.err, syscall.EWOULDBLOCK))
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
