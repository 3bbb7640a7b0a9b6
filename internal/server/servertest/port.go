package servertest

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Port is a listener on the loopback interface that a server may close and another serve again.
// Meanwhile no other process gets the port, and connections wait. Get one from [Listen].
type Port struct {
	*net.TCPListener
	closed atomic.Bool
}

// Listen opens a port until the test ends.
func Listen(t testing.TB) *Port {
	t.Helper()
	made, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Port{TCPListener: made.(*net.TCPListener)}
	t.Cleanup(func() { _ = p.TCPListener.Close() })
	return p
}

// Accept implements [net.Listener].
func (p *Port) Accept() (net.Conn, error) {
	conn, err := p.TCPListener.Accept()
	if err != nil && p.closed.Load() {
		err = net.ErrClosed
	}
	return conn, err
}

// Close implements [net.Listener]. It keeps the port.
func (p *Port) Close() error {
	p.closed.Store(true)
	return p.SetDeadline(time.Unix(1, 0)) // ends Accept
}

// Reopen lets the next server accept, after Close.
func (p *Port) Reopen() {
	p.closed.Store(false)
	_ = p.SetDeadline(time.Time{}) // fails after the end of the test
}
