//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// What a packet grows by: WireGuard over IPv6 adds 80 bytes, VXLAN over IPv6 70,
// the frame's own header among them.
const (
	tunnelOverhead  = 80
	segmentOverhead = 70
	smallestIPv6    = 1280 // RFC 8200 section 5
	longestTunnel   = 9000 - tunnelOverhead
)

// Ports within the tunnels: the one of VXLAN (RFC 7348), and the probes'.
const (
	segmentPort = 4789
	probePort   = 51790
)

// keepalive keeps the mappings of NATs open towards a peer with an endpoint.
const keepalive = 15 * time.Second

// link is one of the links, with its WireGuard device.
type link struct {
	config settings.Link
	device string
	index  int
	mark   uint32
	mtu    int // of the tunnel
	port   uint16
	inner  netip.Addr
	probes *net.UDPConn
	stop   chan struct{}
	loops  sync.WaitGroup
}

// addLink creates the device of a link. What was created is removed on failure.
func (h *host) addLink(c settings.Link, number uint32, private multilink.Key) (made *link, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("add link %q: %w", c.Name, err)
		}
	}()
	public, err := private.PublicKey()
	if err != nil {
		return nil, err
	}
	mtu, err := h.tunnelMTU(c.InterfaceName())
	if err != nil {
		return nil, err
	}
	l := &link{config: c, device: h.deviceName("mlw", c.Name), mark: h.tag | number, mtu: mtu,
		inner: inner(c.Name, public), stop: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.removeLink(l))
		}
	}()
	if err := h.bind(l.mark, c.InterfaceName()); err != nil {
		return nil, err
	}
	attributes := h.attributes(l.device)
	attributes.MTU = mtu
	if l.index, err = h.add(&netlink.Wireguard{LinkAttrs: attributes}); err != nil {
		return nil, err
	}
	key := wgtypes.Key(private)
	mark := int(l.mark)
	port := int(c.Listen)
	if err := h.wg.ConfigureDevice(l.device, wgtypes.Config{PrivateKey: &key, FirewallMark: &mark, ListenPort: &port}); err != nil {
		return nil, fmt.Errorf("configure WireGuard: %w", explain(err))
	}
	if err := h.up(l.device, l.index); err != nil {
		return nil, err
	}
	if err := h.addAddress(l.device, l.index, single(l.inner), unix.IFA_F_NODAD); err != nil {
		return nil, err
	}
	state, err := h.wg.Device(l.device)
	if err != nil {
		return nil, fmt.Errorf("ask WireGuard for its port: %w", err)
	}
	l.port = uint16(state.ListenPort)
	l.probes, err = net.ListenUDP("udp6", net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.inner, probePort)))
	if err != nil {
		return nil, fmt.Errorf("open the socket of probes: %w", explain(err))
	}
	return l, nil
}

// removeLink removes what addLink created, in full or in part.
func (h *host) removeLink(l *link) error {
	var failed []error
	if l.probes != nil {
		failed = append(failed, l.probes.Close())
	}
	failed = append(failed, h.remove(l.device), h.unbind(l.mark))
	return errors.Join(failed...)
}

// tunnelMTU returns the MTU of a tunnel over an interface.
func (h *host) tunnelMTU(device string) (int, error) {
	found, err := h.links.LinkByName(device)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return 0, fmt.Errorf("interface %q: %w", device, multilink.ErrUnknownLink)
	}
	if err != nil {
		return 0, fmt.Errorf("find %q: %w", device, err)
	}
	mtu := min(found.Attrs().MTU-tunnelOverhead, longestTunnel)
	if mtu < smallestIPv6 {
		return 0, fmt.Errorf("interface %q: an MTU of %d leaves %d in the tunnel, and it takes %d: %w", device,
			found.Attrs().MTU, mtu, smallestIPv6, multilink.ErrUnsupported)
	}
	return mtu, nil
}

// listen sets the port of a device that runs.
func (h *host) listen(l *link, port uint16) error {
	number := int(port)
	if err := h.wg.ConfigureDevice(l.device, wgtypes.Config{ListenPort: &number}); err != nil {
		return fmt.Errorf("link %q: listen on %d: %w", l.config.Name, port, explain(err))
	}
	l.port = port
	return nil
}

// setKey adds a peer to a device, or changes it.
func (h *host) setKey(l *link, key multilink.Key, c multilink.PeerLink) error {
	preshared := wgtypes.Key(c.PresharedKey)
	address := inner(l.config.Name, key)
	peer := wgtypes.PeerConfig{
		PublicKey: wgtypes.Key(key), PresharedKey: &preshared,
		ReplaceAllowedIPs: true, AllowedIPs: []net.IPNet{*ipNet(single(address))},
	}
	if c.Endpoint.IsValid() {
		every := keepalive
		peer.Endpoint, peer.PersistentKeepaliveInterval = net.UDPAddrFromAddrPort(c.Endpoint), &every
	}
	if err := h.wg.ConfigureDevice(l.device, wgtypes.Config{Peers: []wgtypes.PeerConfig{peer}}); err != nil {
		return fmt.Errorf("link %q: add a key: %w", l.config.Name, explain(err))
	}
	route := &netlink.Route{LinkIndex: l.index, Dst: ipNet(single(address)), Protocol: protocol, Src: l.inner.AsSlice()}
	if err := h.links.RouteReplace(route); err != nil {
		return fmt.Errorf("link %q: add the route to a peer: %w", l.config.Name, explain(err))
	}
	return nil
}

// removeKey ends the tunnel to a peer: from then on nothing that it sends is taken.
func (h *host) removeKey(l *link, key multilink.Key) error {
	peer := wgtypes.PeerConfig{PublicKey: wgtypes.Key(key), Remove: true}
	err := h.wg.ConfigureDevice(l.device, wgtypes.Config{Peers: []wgtypes.PeerConfig{peer}})
	route := &netlink.Route{LinkIndex: l.index, Dst: ipNet(single(inner(l.config.Name, key)))}
	if err := h.links.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("link %q: remove the route to a peer: %w", l.config.Name, explain(err))
	}
	if err != nil {
		return fmt.Errorf("link %q: remove a key: %w", l.config.Name, explain(err))
	}
	return nil
}
