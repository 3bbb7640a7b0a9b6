package host_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// await reads events until one is as wanted.
func await(t *testing.T, events <-chan multilink.LinkInfo, want string, ok func(multilink.LinkInfo) bool) {
	t.Helper()
	deadline := time.After(patience)
	var last multilink.LinkInfo
	for {
		select {
		case info, open := <-events:
			require.True(t, open, "closed before: %s", want)
			if last = info; ok(info) {
				return
			}
		case <-deadline:
			require.Fail(t, "no event", "want %s, the last was %+v", want, last)
		}
	}
}

func up(i multilink.LinkInfo) bool   { return i.Up && !i.Gone }
func down(i multilink.LinkInfo) bool { return !i.Up && !i.Gone }
func gone(i multilink.LinkInfo) bool { return i.Gone && !i.Up }

func TestLink_Events_reportsCarrierAddressesMTUAndRemoval(t *testing.T) {
	n := newNetwork(t)
	h := n.host(host.Options{})
	n.run("ip link add wlan0 type veth peer name far", "ip link set wlan0 up", "ip link set far up")
	l, err := h.Link(t.Context(), "wlan0")
	require.NoError(t, err)
	events := l.Events()
	await(t, events, "up at first", up)

	n.run("ip link set far down")
	await(t, events, "no carrier", down)
	n.run("ip link set far up")
	await(t, events, "carrier", up)
	n.run("ip link set wlan0 down")
	await(t, events, "disabled", down)
	n.run("ip link set wlan0 up mtu 1400")
	await(t, events, "enabled with its MTU", func(i multilink.LinkInfo) bool { return i.Up && i.MTU == 1400 })
	n.run("ip address add 192.0.2.7/24 dev wlan0")
	await(t, events, "address", func(i multilink.LinkInfo) bool { return slices.Contains(i.Addresses, "192.0.2.7/24") })
	n.run("ip address del 192.0.2.7/24 dev wlan0")
	await(t, events, "no address", func(i multilink.LinkInfo) bool { return !slices.Contains(i.Addresses, "192.0.2.7/24") })
	require.Equal(t, 1400, l.Info().MTU)

	n.run("ip link del wlan0")
	await(t, events, "gone", gone)
	n.run("ip link add wlan0 type veth peer name far", "ip link set wlan0 up", "ip link set far up")
	await(t, events, "there again", up)
	n.run("ip link set wlan0 down", "ip link set wlan0 name wlan1")
	await(t, events, "renamed is gone", gone)

	later := l.Events()
	await(t, later, "the present state at once", gone)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	for range events { // ends
	}
	for range later {
	}
	for range l.Events() {
	}
}

func TestLink_Events_keepsTheLastStateForASlowReader(t *testing.T) {
	n := newNetwork(t)
	h := n.host(host.Options{})
	n.run("ip link add wlan0 type veth peer name far", "ip link set far up")
	slow, err := h.Link(t.Context(), "wlan0")
	require.NoError(t, err)
	events := slow.Events()
	for range 5 {
		n.run("ip link set wlan0 up", "ip link set wlan0 down")
	}
	n.run("ip link set wlan0 up mtu 1234")
	require.Eventually(t, func() bool { return slow.Info().MTU == 1234 && slow.Info().Up }, patience, time.Millisecond)
	count := 0
	await(t, events, "the last state", func(i multilink.LinkInfo) bool { count++; return i.MTU == 1234 && i.Up })
	require.LessOrEqual(t, count, 2)
}

func TestLink_Events_recoversFromLostMessages(t *testing.T) {
	n := newNetwork(t)
	h := n.host(host.Options{})
	n.run("ip link add wlan0 type veth peer name far", "ip link add noisy type veth peer name far1")
	l, err := h.Link(t.Context(), "wlan0")
	require.NoError(t, err)
	events := l.Events()

	release := h.HoldWatching()
	require.NoError(t, h.In(func() error {
		handle, err := netlink.NewHandle()
		require.NoError(t, err)
		defer handle.Close()
		noisy, err := handle.LinkByName("noisy")
		require.NoError(t, err)
		for i := range 3000 { // more than the socket's buffer holds
			require.NoError(t, handle.LinkSetMTU(noisy, 1000+i%2))
		}
		return nil
	}))
	n.run("ip link set wlan0 mtu 1300")
	release()
	await(t, events, "the state after the overflow", func(i multilink.LinkInfo) bool { return i.MTU == 1300 })

	h.BreakWatching()
	n.run("ip link set wlan0 mtu 1200")
	await(t, events, "the state after an interruption", func(i multilink.LinkInfo) bool { return i.MTU == 1200 })
	n.run("ip link set wlan0 mtu 1100")
	await(t, events, "watching goes on", func(i multilink.LinkInfo) bool { return i.MTU == 1100 })
}

func TestHost_Close_closesLinks(t *testing.T) {
	n := newNetwork(t)
	h := n.host(host.Options{})
	n.run("ip link add wlan0 type veth peer name far", "ip link set far up")
	l, err := h.Link(t.Context(), "wlan0")
	require.NoError(t, err)
	events := l.Events()
	require.NoError(t, h.Close())
	for range events {
	}
	_, err = h.Link(t.Context(), "wlan0")
	require.ErrorIs(t, err, multilink.ErrClosed)
}

func TestHost_Links_listsWhatMayCarryALink(t *testing.T) {
	n := newNetwork(t)
	h := n.host(host.Options{})
	n.run("ip link add wlan0 type veth peer name eth0", "ip link set wlan0 up", "ip link set eth0 up",
		"ip address add 192.0.2.1/24 dev eth0")
	_, err := h.Port(t.Context(), multilink.PortConfig{Name: "ml0", Bridge: "br0"})
	require.NoError(t, err)
	links, err := h.Links(t.Context())
	require.NoError(t, err)
	var names []string
	for _, l := range links {
		names = append(names, l.Interface)
		if l.Interface == "eth0" {
			require.True(t, l.Up)
			require.Contains(t, l.Addresses, "192.0.2.1/24")
		}
	}
	require.ElementsMatch(t, []string{"wlan0", "eth0"}, names)

	_, err = h.Link(t.Context(), "none0")
	require.ErrorIs(t, err, multilink.ErrUnknownLink)
	for _, name := range []string{"lo", "ml0", "br0"} {
		_, err = h.Link(t.Context(), name)
		require.ErrorIs(t, err, multilink.ErrDenied, name)
		require.ErrorContains(t, err, name)
	}
}
