package peertest_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

func TestReservedAddress_isGivenToNothingElse(t *testing.T) {
	address := peertest.ReservedAddress(t)
	require.NotEqual(t, address, peertest.ReservedAddress(t))
	// What the system checks when it chooses a port is what it checks without SO_REUSEADDR.
	strict := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var failure error
		err := conn.Control(func(fd uintptr) {
			failure = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		})
		return errors.Join(err, failure)
	}}
	_, err := strict.Listen(t.Context(), "tcp", address.String())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	from := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(address)}
	_, err = from.Dial("tcp", peertest.ReservedAddress(t).String())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}
