package flcollect_test

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

// network is what connects the servers and clients of a test.
type network interface {
	// listen opens an address of its own until the test ends.
	listen(t testing.TB) port
	// dial connects to an address.
	dial(ctx context.Context, address string) (net.Conn, error)
}

// port is a listener that keeps its address when a server closes it.
type port interface {
	net.Listener
	// Reopen makes it ready for another server.
	Reopen()
}

// onFakeClock runs a test on a fake clock, where timeouts cost nothing and a busy machine does not
// have them run out early. No time passes there while a goroutine waits for a socket, so the
// network is in memory.
func onFakeClock(t *testing.T, test func(t *testing.T, n network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, &memory{inlets: map[string]*inlet{}}) })
}

// loopback is the network of this machine.
type loopback struct{}

func (loopback) listen(t testing.TB) port {
	t.Helper()
	return servertest.Listen(t)
}

func (loopback) dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// memory is a network without sockets.
type memory struct {
	mu     sync.Mutex
	inlets map[string]*inlet
	last   int // port
}

// addressLocked returns an address that nothing else has.
func (m *memory) addressLocked() *net.TCPAddr {
	m.last++
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: m.last}
}

func (m *memory) listen(testing.TB) port {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := &inlet{memory: m, at: m.addressLocked(), conns: make(chan net.Conn), closed: make(chan struct{})}
	m.inlets[i.at.String()] = i
	return i
}

func (m *memory) dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	i, here := m.inlets[address], m.addressLocked()
	m.mu.Unlock()
	if i == nil {
		return nil, syscall.ECONNREFUSED
	}
	ours, theirs := net.Pipe()
	select {
	case i.conns <- wire{theirs, i.at, here}:
		return wire{ours, here, i.at}, nil
	case <-i.over():
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inlet is a listener in memory.
type inlet struct {
	memory *memory
	at     net.Addr
	conns  chan net.Conn
	closed chan struct{} // replaced when it opens again
}

func (i *inlet) over() chan struct{} {
	i.memory.mu.Lock()
	defer i.memory.mu.Unlock()
	return i.closed
}

func (i *inlet) Accept() (net.Conn, error) {
	select {
	case conn := <-i.conns:
		return conn, nil
	case <-i.over():
		return nil, net.ErrClosed
	}
}

func (i *inlet) Close() error {
	i.memory.mu.Lock()
	defer i.memory.mu.Unlock()
	select {
	case <-i.closed:
	default:
		close(i.closed)
	}
	return nil
}

func (i *inlet) Reopen() {
	i.memory.mu.Lock()
	defer i.memory.mu.Unlock()
	i.closed = make(chan struct{})
}

func (i *inlet) Addr() net.Addr { return i.at }

// wire is one end of a connection in memory.
type wire struct {
	net.Conn
	local, remote net.Addr
}

func (w wire) LocalAddr() net.Addr  { return w.local }
func (w wire) RemoteAddr() net.Addr { return w.remote }
