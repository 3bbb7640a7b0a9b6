package collector

import (
	"crypto/tls"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestNewFleet_doesWithoutATakenDefaultAlone(t *testing.T) {
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	fleet := func(address string, args ...string) *Fleet {
		flags := host.NewFlags("things", "THINGS", "")
		f := NewFleet(flags, "fleet")
		flags.StringVar(&f.Address, "fleet", address, "")
		require.NoError(t, flags.Parse(args))
		return f
	}
	f := fleet(other.Addr().String())
	at, err := f.Open()
	require.NoError(t, err)
	require.Nil(t, at)
	require.ErrorIs(t, f.taken, syscall.EADDRINUSE)
	require.ErrorContains(t, f.taken, "choose another one with -fleet HOST:PORT")

	_, err = fleet("", "-fleet", other.Addr().String()).Open()
	require.ErrorContains(t, err, "the port is taken")

	_, err = fleet("no address").Open()
	require.ErrorContains(t, err, "no address", "it is not the port")

	f = fleet("")
	at, err = f.Open()
	require.NoError(t, err)
	require.Nil(t, at)
	require.NoError(t, f.taken)
	require.Empty(t, f.URL())

	f = fleet("127.0.0.1:0")
	f.Listener.Listener, err = f.Open()
	require.NoError(t, err)
	require.Equal(t, "fleet://"+f.Addr().String(), f.URL())
	require.NoError(t, f.Close())
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
