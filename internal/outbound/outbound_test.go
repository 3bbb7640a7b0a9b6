package outbound_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/outbound"
)

func ExamplePolicy_Check() {
	policy := outbound.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	fmt.Println(policy.Check(netip.MustParseAddr("10.1.2.3")))
	fmt.Println(policy.Check(netip.MustParseAddr("169.254.169.254")))
	// Output:
	// <nil>
	// outbound: address refused: 169.254.169.254 is not public
}

func TestPolicy_Check_refusesPrivateAddresses(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1", "0.0.0.0", "10.0.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.100.100.200",
		"224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1", "2001:0:1::",
	} {
		require.ErrorIs(t, outbound.Policy{}.Check(netip.MustParseAddr(address)), outbound.ErrRefused, address)
	}
	require.ErrorIs(t, outbound.Policy{}.Check(netip.Addr{}), outbound.ErrRefused)
	for _, address := range []string{"1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"} {
		require.NoError(t, outbound.Policy{}.Check(netip.MustParseAddr(address)), address)
	}
}

func TestPolicy_Check_allowsMappedAddressesOfARange(t *testing.T) {
	policy := outbound.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	require.NoError(t, policy.Check(netip.MustParseAddr("::ffff:127.0.0.1")))
	require.Error(t, policy.Check(netip.MustParseAddr("::1")))
}

func TestPolicy_Control_refusesPrivateAddresses(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1:80", "[::1]:80", "10.1.2.3:80", "169.254.169.254:80", "192.168.0.1:443", "100.64.0.1:80", "0.0.0.0:80",
		"[::]:80", "[::ffff:10.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[fe80::1%eth0]:80", "[fd00::1]:80", "224.0.0.1:80",
		"255.255.255.255:80", "nonsense",
	} {
		require.Error(t, outbound.Policy{}.Control("tcp", address, nil), address)
	}
	for _, address := range []string{"8.8.8.8:443", "[2606:4700::1111]:443"} {
		require.NoError(t, outbound.Policy{}.Control("tcp", address, nil), address)
	}
}

func TestPolicy_Control_refusesANameOfAPrivateAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)

	dialer := net.Dialer{Control: outbound.Policy{}.Control}
	_, err = dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port))
	require.ErrorIs(t, err, outbound.ErrRefused)

	dialer.Control = outbound.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}.Control
	connection, err := dialer.DialContext(t.Context(), "tcp4", net.JoinHostPort("localhost", port))
	require.NoError(t, err)
	require.NoError(t, connection.Close())
}

func FuzzPolicy_Control(f *testing.F) {
	for _, s := range []string{"127.0.0.1:80", "[::1]:80", "2130706433:80", "0x7f.1:80", "[fe80::1%lo]:1",
		"1.1.1.1:80", "[::ffff:10.0.0.1]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if (outbound.Policy{}).Control("tcp", address, nil) != nil {
			return
		}
		end, err := netip.ParseAddrPort(address)
		require.NoError(t, err)
		ip := end.Addr().Unmap()
		require.False(t, ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast(), address)
	})
}
