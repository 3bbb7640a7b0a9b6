//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// peer is the other end of tunnels, with its bond.
type peer struct {
	config multilink.PeerConfig
	bond   string
	index  int
	paths  map[string]*path // by link
	active *path            // what the bond uses, or used last
	count  status.Counters
}

// path is a link to a peer, with its VXLAN device.
type path struct {
	link   *link
	config multilink.PeerLink
	inner  netip.Addr // of the peer
	device string
	index  int
	watch  *watch
	called time.Duration // the last time that a handshake was started
}

// addPeer creates a bond without paths.
func (h *host) addPeer(c multilink.PeerConfig, mtu int, self multilink.Key) (*peer, error) {
	p := &peer{config: c, paths: map[string]*path{}, bond: h.deviceName("mlb", c.PublicKey.Base64())}
	attributes := h.attributes(p.bond)
	attributes.MTU = mtu // before its first path, which must take it
	attributes.HardwareAddr = h.hardware("bond", self.Base64(), c.PublicKey.Base64())
	bond := netlink.NewLinkBond(attributes)
	bond.Mode = netlink.BOND_MODE_ACTIVE_BACKUP
	bond.Miimon = 100
	bond.AllSlavesActive = 1 // the other end may use another link
	bond.NumPeerNotif = 0    // no address moves at a failover
	var err error
	if p.index, err = h.add(bond); err != nil {
		return nil, fmt.Errorf("add peer %q: %w", c.Name, err)
	}
	if err := h.up(p.bond, p.index); err != nil {
		return nil, errors.Join(fmt.Errorf("add peer %q: %w", c.Name, err), h.remove(p.bond))
	}
	return p, nil
}

// addPath creates the VXLAN device of a link to a peer, and joins it to the bond.
func (h *host) addPath(p *peer, l *link, c multilink.PeerLink, self multilink.Key) (*path, error) {
	key := p.config.PublicKey
	made := &path{link: l, config: c, inner: inner(l.config.Name, key), device: h.deviceName("mlx", l.config.Name, key.Base64())}
	err := h.setKey(l, key, c)
	if err == nil {
		attributes := h.attributes(made.device)
		attributes.MTU = l.mtu - segmentOverhead
		made.index, err = h.add(&netlink.Vxlan{
			LinkAttrs: attributes, VxlanId: segment(l.config.Name, self, key), VtepDevIndex: l.index,
			SrcAddr: l.inner.AsSlice(), Group: net.IP(made.inner.AsSlice()), Port: segmentPort,
		})
	}
	if err == nil {
		if err = h.links.LinkSetMasterByIndex(byIndex(made.index), p.index); err != nil {
			err = fmt.Errorf("join %q to the bond: %w", made.device, explain(err))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("add link %q to peer %q: %w", l.config.Name, p.config.Name, err), h.removePath(p, made))
	}
	return made, nil
}

// call makes WireGuard start a new handshake with the peer. Without it, WireGuard
// takes 15 s to detect that the other end has lost the keys.
func (h *host) call(p *peer, one *path) error {
	gone := wgtypes.Config{Peers: []wgtypes.PeerConfig{{PublicKey: wgtypes.Key(p.config.PublicKey), Remove: true}}}
	if err := h.wg.ConfigureDevice(one.link.device, gone); err != nil {
		return fmt.Errorf("link %q: call %q: %w", one.link.config.Name, p.config.Name, explain(err))
	}
	return h.setKey(one.link, p.config.PublicKey, one.config)
}

// removePath ends the tunnel first, so that nothing passes while the rest goes.
func (h *host) removePath(p *peer, gone *path) error {
	return errors.Join(h.removeKey(gone.link, p.config.PublicKey), h.remove(gone.device))
}

// use makes the bond send over a path.
func (h *host) use(p *peer, chosen *path) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = p.bond // and no index: with both, the kernel takes it for a new name
	bond := netlink.NewLinkBond(attributes)
	bond.ActiveSlave = chosen.index
	if err := h.links.LinkModify(bond); err != nil {
		return fmt.Errorf("peer %q: use link %q: %w", p.config.Name, chosen.link.config.Name, explain(err))
	}
	return nil
}
