//go:build linux

package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// port is the bridge that joins the bonds of all peers, and the host.
type port struct {
	config  multilink.PortConfig
	bridge  string
	index   int
	made    bool // by us: else it is only left
	limit   int  // of the MTU: what was set, or what the interfaces of the links carry
	mtu     int  // now: less where a path carries less
	members []string
}

func bridgeName(c multilink.PortConfig) string { return cmp.Or(c.Bridge, c.Name) }

// portMTU returns the MTU of a port, given the largest that the links carry.
func portMTU(c multilink.PortConfig, most int) (int, error) {
	if c.MTU > most {
		return 0, fmt.Errorf("port %q: mtu: must be at most %d, which is what the links carry in one piece, got %d: %w",
			c.Name, most, c.MTU, multilink.ErrUnsupported)
	}
	return cmp.Or(c.MTU, most), nil
}

// addPort creates the bridge, or takes the one that is there. self is whose port
// it is: the two ends of a bond must not have one hardware address.
func (h *host) addPort(c multilink.PortConfig, mtu int, self multilink.Key) (*port, error) {
	p := &port{config: c, bridge: bridgeName(c), limit: mtu, mtu: mtu}
	fail := func(err error) (*port, error) {
		return nil, errors.Join(fmt.Errorf("add port %q: %w", c.Name, err), h.removePort(p))
	}
	there, err := h.links.LinkByName(p.bridge)
	switch {
	case err == nil && (c.Bridge == "" || there.Type() != "bridge"):
		return nil, fmt.Errorf("add port %q: a %s has the name %q: %w", c.Name, there.Type(), p.bridge, multilink.ErrDuplicate)
	case err == nil:
		p.index = there.Attrs().Index
	case errors.As(err, &netlink.LinkNotFoundError{}):
		attributes := h.attributes(p.bridge)
		attributes.HardwareAddr = h.hardware("port", self.Base64(), p.bridge)
		attributes.MTU = mtu
		if p.index, err = h.add(&netlink.Bridge{LinkAttrs: attributes}); err != nil {
			return fail(err)
		}
		p.made = true
	default:
		return nil, fmt.Errorf("find %q: %w", p.bridge, err)
	}
	if err := h.up(p.bridge, p.index); err != nil {
		return fail(err)
	}
	for _, member := range c.Members {
		if err := h.joinMember(p, member); err != nil {
			return fail(err)
		}
	}
	if err := h.updatePort(p, c); err != nil {
		return fail(err)
	}
	return p, nil
}

func (h *host) joinMember(p *port, name string) error {
	device, err := h.links.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return fmt.Errorf("member %q: %w", name, multilink.ErrUnknownLink)
	}
	if err != nil {
		return fmt.Errorf("find %q: %w", name, err)
	}
	switch device.Attrs().MasterIndex {
	case p.index:
		return nil
	case 0:
	default:
		return fmt.Errorf("member %q: it belongs to another bridge or bond: %w", name, multilink.ErrDuplicate)
	}
	if err := h.links.LinkSetMasterByIndex(device, p.index); err != nil {
		return fmt.Errorf("join %q to %q: %w", name, p.bridge, explain(err))
	}
	p.members = append(p.members, name)
	return nil
}

// updatePort makes addresses and routes those of c.
func (h *host) updatePort(p *port, c multilink.PortConfig) error {
	for _, address := range c.Addresses {
		if err := h.addAddress(p.bridge, p.index, address, 0); err != nil {
			return err
		}
	}
	for _, address := range p.config.Addresses {
		if !slices.Contains(c.Addresses, address) {
			if err := h.removeAddress(p, address); err != nil {
				return err
			}
		}
	}
	for _, route := range p.config.Routes {
		if !slices.Contains(c.Routes, route) {
			if err := h.links.RouteDel(portRoute(p, route)); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("remove the route to %v: %w", route.Destination, explain(err))
			}
		}
	}
	for _, route := range c.Routes {
		if err := h.links.RouteReplace(portRoute(p, route)); err != nil {
			return fmt.Errorf("add the route to %v: %w", route.Destination, explain(err))
		}
	}
	p.config = c
	return nil
}

func (h *host) removeAddress(p *port, address netip.Prefix) error {
	err := h.links.AddrDel(byIndex(p.index), &netlink.Addr{IPNet: ipNet(address)})
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("remove %v from %q: %w", address, p.bridge, explain(err))
	}
	return nil
}

// removePort removes the bridge, or takes from one that was there before what
// was added to it.
func (h *host) removePort(p *port) error {
	if p.made {
		return h.remove(p.bridge)
	}
	if p.index == 0 {
		return nil
	}
	failed := []error{h.updatePort(p, multilink.PortConfig{Name: p.config.Name, Bridge: p.config.Bridge})}
	for _, member := range p.members {
		device, err := h.links.LinkByName(member)
		if err == nil && device.Attrs().MasterIndex == p.index {
			failed = append(failed, h.links.LinkSetNoMaster(device))
		}
	}
	return errors.Join(failed...)
}

// setMTU changes the MTU of a port and of the bonds, which pass it on to their
// paths.
func (h *host) setMTU(p *port, peers map[multilink.Key]*peer, mtu int) error {
	for _, to := range peers {
		if err := h.links.LinkSetMTU(byIndex(to.index), mtu); err != nil {
			return fmt.Errorf("set the MTU of %q to %d: %w", to.bond, mtu, explain(err))
		}
	}
	if p.made {
		if err := h.links.LinkSetMTU(byIndex(p.index), mtu); err != nil {
			return fmt.Errorf("set the MTU of %q to %d: %w", p.bridge, mtu, explain(err))
		}
	}
	p.mtu = mtu
	return nil
}

// joinBond makes the bond of a peer a port of the bridge.
func (h *host) joinBond(p *port, to *peer) error {
	if err := h.links.LinkSetMasterByIndex(byIndex(to.index), p.index); err != nil {
		return fmt.Errorf("join the bond of %q to %q: %w", to.config.Name, p.bridge, explain(err))
	}
	return nil
}

func portRoute(p *port, route multilink.Route) *netlink.Route {
	made := &netlink.Route{LinkIndex: p.index, Dst: ipNet(route.Destination.Masked()), Protocol: protocol}
	if route.Gateway.IsValid() {
		made.Gw = route.Gateway.AsSlice()
	}
	return made
}

// everything returns the destination of a default route.
func everything(family int) *net.IPNet {
	if family == unix.AF_INET {
		return ipNet(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
	}
	return ipNet(netip.PrefixFrom(netip.IPv6Unspecified(), 0))
}
