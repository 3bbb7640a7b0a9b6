package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

// acceptInterval is the shortest time between two warnings of a listener.
const acceptInterval = 10 * time.Second

// KeepAccepting returns the listener with an Accept that survives a lack of
// resources, such as too many open files: it waits a little, from 5 ms to 1 s,
// and tries again. Of the servers, net/http and gRPC try again without a line in the log,
// and others end. Every error but that of a closed listener is logged as a warning, at
// most one in 10 seconds, with the count of those that were not logged.
func KeepAccepting(listener net.Listener, log *slog.Logger) net.Listener {
	return &accepting{Listener: listener, log: log, closed: make(chan struct{})}
}

type accepting struct {
	net.Listener
	log    *slog.Logger
	once   sync.Once
	closed chan struct{}

	mu      sync.Mutex
	logged  time.Time // the last warning; zero before the first
	skipped int       // errors since then
}

// Accept implements net.Listener.
func (a *accepting) Accept() (net.Conn, error) {
	const least, most = 5 * time.Millisecond, time.Second
	for pause := least; ; pause = min(2*pause, most) {
		conn, err := a.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		a.warn(err)
		if !lacksResources(err) {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-a.closed:
			return nil, net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (a *accepting) Close() error {
	a.once.Do(func() { close(a.closed) })
	return a.Listener.Close()
}

// warn logs the error, or counts it.
func (a *accepting) warn(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !a.logged.IsZero() && now.Sub(a.logged) < acceptInterval {
		a.skipped++
		return
	}
	more := ""
	if a.skipped > 0 {
		more = fmt.Sprintf("; %d more since the last line", a.skipped)
	}
	a.logged, a.skipped = now, 0
	a.log.Warn(fmt.Sprintf("accept on %s: %v%s%s", a.Addr(), cause(err), more, advice(err)))
}

// lacksResources reports whether Accept may succeed a little later.
func lacksResources(err error) bool {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}

// cause returns the error of the system without its context.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
