package host_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// socket is an underlay that has nothing but a socket.
type socket struct {
	multilink.Underlay
	net.PacketConn
	closed int
}

func (s *socket) Close() error {
	s.closed++
	return s.PacketConn.Close()
}

func TestHost_Underlay_isMadeInTheNamespace(t *testing.T) {
	n := newNetwork(t)
	n.run("ip link add wlan0 type veth peer name far", "ip link set wlan0 mtu 1420 up", "ip address add 198.51.100.77/24 dev wlan0")
	var made []*socket
	var asked []multilink.UnderlayConfig
	options := host.Options{Underlay: func(_ context.Context, c multilink.UnderlayConfig) (multilink.Underlay, error) {
		asked = append(asked, c)
		// The address exists in the namespace only.
		conn, err := net.ListenPacket("udp", "198.51.100.77:0")
		if err != nil {
			return nil, err
		}
		made = append(made, &socket{PacketConn: conn})
		return made[len(made)-1], nil
	}}
	h := n.host(options)
	first, err := h.Underlay(t.Context(), multilink.UnderlayConfig{Link: "wifi", Interface: "wlan0"})
	require.NoError(t, err)
	_, err = h.Underlay(t.Context(), multilink.UnderlayConfig{Link: "wifi", Interface: "wlan0", LinkMTU: 1300})
	require.NoError(t, err)
	_, err = h.Underlay(t.Context(), multilink.UnderlayConfig{Link: "any"})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1300, 1500}, []int{asked[0].LinkMTU, asked[1].LinkMTU, asked[2].LinkMTU})

	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	require.NoError(t, h.Close(), "closes the others")
	for _, s := range made {
		require.Equal(t, 1, s.closed)
	}
	_, err = h.Underlay(t.Context(), multilink.UnderlayConfig{Link: "any"})
	require.ErrorIs(t, err, multilink.ErrClosed)
}

func TestHost_Underlay_namesWhatItRefuses(t *testing.T) {
	n := newNetwork(t)
	n.run("ip link add wlan0 type veth peer name far")
	broken := errors.New("no such driver")
	factory := func(context.Context, multilink.UnderlayConfig) (multilink.Underlay, error) { return nil, broken }
	for says, test := range map[string]struct {
		options host.Options
		config  multilink.UnderlayConfig
		want    error
	}{
		"Options.Underlay": {host.Options{}, multilink.UnderlayConfig{}, multilink.ErrUnsupported},
		`"none0"`:          {host.Options{Underlay: factory}, multilink.UnderlayConfig{Interface: "none0"}, multilink.ErrUnknownLink},
		`"lo"`:             {host.Options{Underlay: factory}, multilink.UnderlayConfig{Interface: "lo"}, multilink.ErrDenied},
		"Options.Interfaces": {host.Options{Underlay: factory, Interfaces: []string{"eth*"}},
			multilink.UnderlayConfig{Interface: "wlan0"}, multilink.ErrDenied},
		`operation "tunnels"`: {host.Options{Underlay: factory, Allow: []host.Operation{host.TAP}},
			multilink.UnderlayConfig{Interface: "wlan0"}, multilink.ErrDenied},
		"no such driver": {host.Options{Underlay: factory}, multilink.UnderlayConfig{Interface: "wlan0"}, broken},
	} {
		h := n.host(test.options)
		test.config.Link = "wifi"
		_, err := h.Underlay(t.Context(), test.config)
		require.ErrorIs(t, err, test.want, says)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, `create underlay of link "wifi": `)
		require.NoError(t, h.Close())
	}
}

func TestHost_In_returnsToTheNamespaceOfTheCaller(t *testing.T) {
	n := newNetwork(t)
	n.run("ip link add only-there type veth peer name far")
	h := n.host(host.Options{})
	for range 20 {
		failure := errors.New("failure")
		require.ErrorIs(t, h.In(func() error {
			_, err := net.InterfaceByName("only-there")
			require.NoError(t, err)
			return failure
		}), failure)
		_, err := net.InterfaceByName("only-there")
		require.Error(t, err)
	}
}
