package collector

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestListenFleet_doesWithoutATakenDefaultAlone(t *testing.T) {
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	address := other.Addr().String()

	at, taken, err := ListenFleet(server.Listen, "fleet", address, false)
	require.NoError(t, err)
	require.Nil(t, at)
	require.ErrorIs(t, taken, syscall.EADDRINUSE)
	require.ErrorContains(t, taken, "choose another one with -fleet HOST:PORT")

	_, _, err = ListenFleet(server.Listen, "fleet", address, true)
	require.ErrorContains(t, err, "the port is taken")

	_, _, err = ListenFleet(func(string, string) (net.Listener, error) { return nil, errors.New("no rights") }, "fleet", DefaultFleet, false)
	require.ErrorContains(t, err, "no rights", "it is not the port")

	at, taken, err = ListenFleet(server.Listen, "fleet", "", false)
	require.NoError(t, err)
	require.NoError(t, taken)
	require.Nil(t, at)
	require.Empty(t, FleetURL(at))

	at, _, err = ListenFleet(server.Listen, "fleet", "127.0.0.1:0", true)
	require.NoError(t, err)
	require.Equal(t, "fleet://"+at.Addr().String(), FleetURL(at))
	require.NoError(t, at.Close())
}

// SuperNodes have no certificates: a listener that required them would let none in.
func TestWithoutCertificates_asksForNone(t *testing.T) {
	config := servertest.NewAuthority(t).ServerTLS(tls.RequireAndVerifyClientCert)
	current := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return current, nil }
	got := withoutCertificates(config)
	require.Equal(t, tls.NoClientCert, got.ClientAuth)
	now, err := got.GetConfigForClient(nil)
	require.NoError(t, err)
	require.Equal(t, tls.NoClientCert, now.ClientAuth)
	require.Equal(t, tls.RequireAndVerifyClientCert, current.ClientAuth, "that of clients stays")
	require.Nil(t, withoutCertificates(nil))
}
