package wg_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/wg"
)

// newLab creates two hosts, or skips the test for want of the right to.
func newLab(t testing.TB, links ...string) *netlab.Lab {
	t.Helper()
	lab, err := netlab.New(links...)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip("network namespaces take root: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	return lab
}

// on creates an underlay on a host of a lab.
func on(t testing.TB, lab *netlab.Lab, side netlab.Side, config multilink.UnderlayConfig, opts *wg.Options) end {
	t.Helper()
	var e end
	require.NoError(t, lab.In(side, func() error {
		e = newEnd(t, config, opts)
		return nil
	}))
	return e
}

// joined is a client that calls a server over one link of a lab.
type joined struct {
	client, server           end
	up, down                 multilink.Tunnel
	clientInbox, serverInbox inbox
}

func join(t testing.TB, lab *netlab.Lab, link string, to netip.Addr) *joined {
	t.Helper()
	config := multilink.UnderlayConfig{Link: link, Interface: link}
	j := &joined{client: on(t, lab, netlab.Client, config, nil), server: on(t, lab, netlab.Server, config, nil)}
	var err error
	j.down, err = j.server.Open(multilink.TunnelPeer{PublicKey: j.client.public}, j.serverInbox.receive)
	require.NoError(t, err)
	j.up, err = j.client.Open(multilink.TunnelPeer{
		PublicKey: j.server.public, Endpoint: netip.AddrPortFrom(to, j.server.Port()),
	}, j.clientInbox.receive)
	require.NoError(t, err)
	return j
}

func (j *joined) requireCarries(t testing.TB) {
	t.Helper()
	requireCarries(t, j.up, &j.serverInbox)
	requireCarries(t, j.down, &j.clientInbox)
}

// cable joins the hosts by a pair of interfaces without air in between, which
// can be removed. It has addresses of both versions.
func cable(t testing.TB, lab *netlab.Lab, name string) {
	t.Helper()
	server, err := os.Open(lab.Path(netlab.Server))
	require.NoError(t, err)
	defer server.Close()
	for side := range netlab.Side(2) {
		require.NoError(t, lab.In(side, func() error {
			if side == netlab.Client {
				pair := &netlink.Veth{
					LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name, PeerNamespace: netlink.NsFd(int(server.Fd())),
				}
				if err := netlink.LinkAdd(pair); err != nil {
					return err
				}
			}
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			for _, cidr := range []string{"198.51.100.%d/24", "2001:db8::%d/64"} {
				address, err := netlink.ParseAddr(fmt.Sprintf(cidr, 1+side))
				if err != nil {
					return err
				}
				address.Flags = unix.IFA_F_NODAD
				if err := netlink.AddrAdd(link, address); err != nil {
					return err
				}
			}
			return netlink.LinkSetUp(link)
		}))
	}
}

// change does something with an interface of a host.
func change(t testing.TB, lab *netlab.Lab, side netlab.Side, name string, f func(netlink.Link) error) {
	t.Helper()
	require.NoError(t, lab.In(side, func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		return f(link)
	}))
}

func requireDown(t testing.TB, tunnel multilink.Tunnel) {
	t.Helper()
	require.Eventually(t, func() bool {
		return errors.Is(tunnel.Send([][]byte{packet("down?")}), multilink.ErrLinkDown)
	}, patience, time.Millisecond)
}

func requireUp(t testing.TB, tunnel multilink.Tunnel) {
	t.Helper()
	require.Eventually(t, func() bool { return tunnel.SendControl(packet("up?")) == nil }, patience, time.Millisecond)
}

var (
	cableServer4 = netip.MustParseAddr("198.51.100.2")
	cableServer6 = netip.MustParseAddr("2001:db8::2")
)

func TestUnderlay_usesItsInterfaceAlone(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "wifi", "mesh")
	wifi := join(t, lab, "wifi", netlab.Address(netlab.Server, 0))
	mesh := join(t, lab, "mesh", netlab.Address(netlab.Server, 1))
	wifi.requireCarries(t)
	mesh.requireCarries(t)

	// The server's address on the other link could be reached over that one.
	astray := on(t, lab, netlab.Client, multilink.UnderlayConfig{Link: "mesh", Interface: "mesh"}, nil)
	_, err := wifi.server.Open(multilink.TunnelPeer{PublicKey: astray.public}, wifi.serverInbox.receive)
	require.NoError(t, err)
	tunnel, err := astray.Open(multilink.TunnelPeer{
		PublicKey: wifi.server.public, Endpoint: netip.AddrPortFrom(netlab.Address(netlab.Server, 0), wifi.server.Port()),
	}, func([][]byte) {})
	require.NoError(t, err)
	strayed := packet("astray")
	require.Never(t, func() bool {
		_ = tunnel.SendControl(strayed)
		return wifi.serverInbox.has(strayed)
	}, 200*time.Millisecond, 5*time.Millisecond)

	require.NoError(t, lab.Cut("wifi"))
	mesh.requireCarries(t)
	require.NoError(t, wifi.up.Send([][]byte{packet("swallowed")}))
	mesh.requireCarries(t)
	require.False(t, wifi.serverInbox.has(packet("swallowed")))
	require.NoError(t, lab.Restore("wifi"))
	wifi.requireCarries(t)
}

func TestOpen_sharesAPortBetweenInterfaces(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "wifi", "mesh")
	first := on(t, lab, netlab.Client, multilink.UnderlayConfig{Interface: "wifi"}, nil)
	on(t, lab, netlab.Client, multilink.UnderlayConfig{Interface: "mesh", Port: first.Port()}, nil)
	require.NoError(t, lab.In(netlab.Client, func() error {
		_, err := wg.Open(t.Context(), multilink.UnderlayConfig{Interface: "wifi", Port: first.Port(), PrivateKey: newKey(t)}, nil)
		require.ErrorIs(t, err, multilink.ErrAddressInUse)
		return nil
	}))
}

func TestOpen_namesAnUnknownInterface(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nosuch0", "a-name-longer-than-any"} {
		_, err := wg.Open(t.Context(), multilink.UnderlayConfig{Link: "5g", Interface: name, PrivateKey: newKey(t)}, nil)
		require.ErrorIs(t, err, multilink.ErrUnknownLink)
		require.ErrorContains(t, err, name)
	}
}

func TestOpen_namesAMissingCapability(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	require.NoError(t, lab.In(netlab.Client, func() error {
		// Of this thread alone, which ends.
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			return err
		}
		_, err := wg.Open(t.Context(), multilink.UnderlayConfig{Link: "5g", PrivateKey: newKey(t)}, &wg.Options{Mark: 7})
		require.ErrorIs(t, err, multilink.ErrDenied)
		require.ErrorContains(t, err, "CAP_NET_ADMIN")
		// A socket that is bound to no interface may be bound to one.
		u, err := wg.Open(t.Context(), multilink.UnderlayConfig{Link: "5g", Interface: "lo", PrivateKey: newKey(t)}, nil)
		require.NoError(t, err)
		return u.Close()
	}))
}

func TestTunnel_MTU_countsTheIPv6Header(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	cable(t, lab, "cable")
	j := join(t, lab, "cable", cableServer6)
	j.requireCarries(t)
	require.Eventually(t, func() bool { return j.down.Stats().Endpoint.Addr().Is6() }, patience, time.Millisecond)
	require.Equal(t, 1397, j.up.MTU())
	require.Equal(t, 1397, j.down.MTU())
	whole := make([]byte, j.up.MTU())
	require.Eventually(t, func() bool {
		require.NoError(t, j.up.Send([][]byte{whole, whole, whole}))
		return j.serverInbox.has(whole)
	}, patience, 10*time.Millisecond)
}

func TestTunnel_MTU_followsTheInterface(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	cable(t, lab, "cable")
	j := join(t, lab, "cable", cableServer4)
	require.Equal(t, 1429, j.up.MTU())
	for _, side := range []netlab.Side{netlab.Client, netlab.Server} {
		change(t, lab, side, "cable", func(link netlink.Link) error { return netlink.LinkSetMTU(link, 1001) })
	}
	require.Eventually(t, func() bool { return j.up.MTU() == 930 }, patience, time.Millisecond)
	j.requireCarries(t)
	whole := make([]byte, j.up.MTU())
	require.Eventually(t, func() bool {
		require.NoError(t, j.up.Send([][]byte{whole, whole, whole}))
		return j.serverInbox.has(whole)
	}, patience, 10*time.Millisecond)
}

func TestTunnel_Send_failsWhileTheInterfaceIsDisabled(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	cable(t, lab, "cable")
	j := join(t, lab, "cable", cableServer4)
	j.requireCarries(t)
	change(t, lab, netlab.Client, "cable", netlink.LinkSetDown)
	requireDown(t, j.up)
	require.ErrorIs(t, j.up.SendControl(packet("control")), multilink.ErrLinkDown)
	requireDown(t, j.down) // its end has lost the carrier
	change(t, lab, netlab.Client, "cable", netlink.LinkSetUp)
	requireUp(t, j.up)
	requireUp(t, j.down)
	j.requireCarries(t)
}

func TestTunnel_Send_failsWithoutCarrier(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "wifi")
	j := join(t, lab, "wifi", netlab.Address(netlab.Server, 0))
	j.requireCarries(t)
	require.NoError(t, lab.Carrier("wifi", netlab.Client, false))
	requireDown(t, j.up)
	require.NoError(t, j.down.SendControl(packet("the other end is none the wiser")))
	require.NoError(t, lab.Carrier("wifi", netlab.Client, true))
	requireUp(t, j.up)
	j.requireCarries(t)
}

func TestUnderlay_survivesTheRemovalOfItsInterface(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	cable(t, lab, "cable")
	j := join(t, lab, "cable", cableServer4)
	j.requireCarries(t)
	for range 3 {
		change(t, lab, netlab.Client, "cable", netlink.LinkDel) // both ends of it
		requireDown(t, j.up)
		requireDown(t, j.down)
		cable(t, lab, "cable")
		requireUp(t, j.up)
		j.requireCarries(t)
	}
}

func TestTunnel_followsThePeersAddress(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	cable(t, lab, "cable")
	j := join(t, lab, "cable", cableServer4)
	j.requireCarries(t)
	before := j.down.Stats().Endpoint
	change(t, lab, netlab.Client, "cable", func(link netlink.Link) error {
		old, err := netlink.ParseAddr("198.51.100.1/24")
		if err != nil {
			return err
		}
		other, err := netlink.ParseAddr("198.51.100.77/24")
		if err != nil {
			return err
		}
		return errors.Join(netlink.AddrDel(link, old), netlink.AddrAdd(link, other))
	})
	j.requireCarries(t)
	after := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.77"), j.client.Port())
	require.Eventually(t, func() bool { return j.down.Stats().Endpoint == after }, patience, time.Millisecond)
	require.NotEqual(t, before, after)
}

// TestTunnel_recoversAfterTheKeysExpired takes as long as MULTILINK_OUTAGE says, and says
// how soon the link was of use again.
func TestTunnel_recoversAfterTheKeysExpired(t *testing.T) {
	t.Parallel()
	wanted := os.Getenv("MULTILINK_OUTAGE")
	if wanted == "" {
		t.Skip("it takes minutes: set MULTILINK_OUTAGE=200s")
	}
	outage, err := time.ParseDuration(wanted)
	require.NoError(t, err)
	lab := newLab(t, "wifi")
	j := join(t, lab, "wifi", netlab.Address(netlab.Server, 0))
	j.requireCarries(t)
	require.NoError(t, lab.Cut("wifi"))
	until := time.Now().Add(outage)
	require.Eventually(t, func() bool { // probes, as a bond sends them
		_ = j.up.SendControl(packet("probe"))
		_ = j.down.SendControl(packet("probe"))
		return time.Now().After(until)
	}, outage+patience, 10*time.Millisecond)
	j.serverInbox.reset()
	j.clientInbox.reset()
	require.NoError(t, lab.Restore("wifi"))
	began := time.Now()
	j.requireCarries(t)
	t.Logf("after an outage of %v both directions carried again within %v", outage, time.Since(began))
}

func TestTunnel_Send_failsForAnUnreachablePeerAlone(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "wifi")
	client := on(t, lab, netlab.Client, multilink.UnderlayConfig{}, nil)
	server := on(t, lab, netlab.Server, multilink.UnderlayConfig{}, nil)
	var got inbox
	_, err := server.Open(multilink.TunnelPeer{PublicKey: client.public}, got.receive)
	require.NoError(t, err)
	good, err := client.Open(multilink.TunnelPeer{
		PublicKey: server.public, Endpoint: netip.AddrPortFrom(netlab.Address(netlab.Server, 0), server.Port()),
	}, func([][]byte) {})
	require.NoError(t, err)
	lost, err := client.Open(multilink.TunnelPeer{
		PublicKey: publicKey(t, newKey(t)), Endpoint: netip.MustParseAddrPort("203.0.113.1:9"),
	}, func([][]byte) {})
	require.NoError(t, err)
	requireDown(t, lost)
	requireCarries(t, good, &got)
	require.NoError(t, good.Send([][]byte{packet("fine")}))
	require.ErrorIs(t, lost.SendControl(packet("lost")), multilink.ErrLinkDown)

	change(t, lab, netlab.Client, "wifi", func(link netlink.Link) error {
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK,
			Dst: netlink.NewIPNet([]byte{203, 0, 113, 1})})
	})
	requireUp(t, lost)
}

func TestTunnel_Send_fragmentsBeyondTheMTU(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	cable(t, lab, "cable")
	j := join(t, lab, "cable", cableServer4)
	j.requireCarries(t)
	for _, side := range []netlab.Side{netlab.Client, netlab.Server} {
		change(t, lab, side, "cable", func(link netlink.Link) error { return netlink.LinkSetMTU(link, 1000) })
	}
	long := [][]byte{make([]byte, 1400), make([]byte, 1400), make([]byte, 1400)}
	for range 10 { // more often than the kernel may refuse them as one
		j.serverInbox.reset()
		require.Eventually(t, func() bool {
			require.NoError(t, j.up.Send(long))
			return j.serverInbox.count() >= len(long)
		}, patience, 10*time.Millisecond)
	}
}
