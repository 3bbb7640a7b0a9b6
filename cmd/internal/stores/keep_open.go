package stores

import (
	"log/slog"
	"net"
	"sync"

	"github.com/iotenablers/enablers/internal/server"
)

// openListener is a listener that outlives a server: it can be lent to one, whose Close
// leaves it open.
type openListener struct {
	net.Listener
	conns chan net.Conn
	ended chan struct{} // closed when Accept of the listener has failed
	err   error         // valid then

	once   sync.Once
	closed chan struct{}
}

// keepOpen returns an openListener, which takes over the listener. It accepts until it is
// closed, as [server.KeepAccepting] does.
func keepOpen(listener net.Listener, log *slog.Logger) *openListener {
	l := &openListener{Listener: server.KeepAccepting(listener, log), conns: make(chan net.Conn),
		ended: make(chan struct{}), closed: make(chan struct{})}
	go l.accept()
	return l
}

// accept accepts connections for the callers of Accept.
func (l *openListener) accept() {
	defer close(l.ended)
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			l.err = err
			return
		}
		select {
		case l.conns <- conn:
		case <-l.closed:
			_ = conn.Close() // no server has it
		}
	}
}

// Accept implements net.Listener.
func (l *openListener) Accept() (net.Conn, error) { return l.acceptUntil(nil) }

// acceptUntil returns a connection, or net.ErrClosed when over is closed.
func (l *openListener) acceptUntil(over <-chan struct{}) (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.ended:
		return nil, l.err
	case <-over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *openListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// lend returns the listener for a server. To close it does not close the listener.
func (l *openListener) lend() net.Listener {
	return &lentListener{openListener: l, over: make(chan struct{})}
}

type lentListener struct {
	*openListener
	once sync.Once
	over chan struct{}
}

// Accept implements net.Listener.
func (l *lentListener) Accept() (net.Conn, error) { return l.acceptUntil(l.over) }

// Close implements net.Listener.
func (l *lentListener) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}
