package clientaddr_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/clientaddr"
)

func TestOfRemote_countsANetworkOfIPv6AsOne(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":               "192.0.2.1",
		"[::ffff:192.0.2.1]:80":      "192.0.2.1",
		"[2001:db8::1]:80":           "2001:db8::",
		"[2001:db8::ffff%eth0]:443":  "2001:db8::",
		"[2001:db8:0:1::ffff]:65535": "2001:db8:0:1::",
	} {
		require.Equal(t, netip.MustParseAddr(want), clientaddr.OfRemote(remote), remote)
	}
	for _, other := range []string{"", "@", "192.0.2.1", "/run/socket"} {
		require.Equal(t, netip.Addr{}, clientaddr.OfRemote(other), other)
	}
	require.Equal(t, netip.Addr{}, clientaddr.Of(netip.Addr{}))
}
