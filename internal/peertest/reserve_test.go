package peertest_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

func TestReservedAddress_isForServersOfTheTest(t *testing.T) {
	address := peertest.ReservedAddress(t).String()
	for range 2 {
		_, err := net.Dial("tcp", address)
		require.Error(t, err, "nothing listens there yet, or any more")
		server, err := net.Listen("tcp", address)
		require.NoError(t, err)
		client, err := net.Dial("tcp", address)
		require.NoError(t, err)
		accepted, err := server.Accept()
		require.NoError(t, err)
		require.NoError(t, server.Close())
		require.NoError(t, accepted.Close())
		require.NoError(t, client.Close())
	}
}
