package stores_test

import (
	"log/slog"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/stores"
)

// scarce is a listener that has no file descriptor for the first connection.
type scarce struct {
	net.Listener
	accepted chan net.Conn
}

func (s *scarce) Accept() (net.Conn, error) {
	conn, more := <-s.accepted
	switch {
	case !more:
		return nil, net.ErrClosed
	case conn == nil:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return conn, nil
}

func (s *scarce) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

func (s *scarce) Close() error {
	close(s.accepted)
	return nil
}

func TestKeepOpen_acceptsAgainAfterALackOfDescriptors(t *testing.T) {
	under := &scarce{accepted: make(chan net.Conn, 2)}
	near, far := net.Pipe()
	defer func() { require.NoError(t, far.Close()) }()
	under.accepted <- nil
	under.accepted <- near
	listener := stores.KeepOpen(under, slog.New(slog.DiscardHandler))
	conn, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, listener.Close())
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
