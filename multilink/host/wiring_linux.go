package host

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

const (
	defaultMTU = 1500
	minMTU     = 576  // every host must take that (RFC 791 section 3.1)
	minMTU6    = 1280 // the same of IPv6 (RFC 8200 section 5)
	maxMTU     = 9000 // of multilink.MaxFrame
)

// checkPort reports the first field of c that is not allowed, or not permitted.
func (h *Host) checkPort(c multilink.PortConfig) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("create port %q: %s: %w", c.Name, fmt.Sprintf(format, args...), multilink.ErrInvalid)
	}
	switch {
	case !validInterface(c.Name) || c.Name == loopback:
		return bad("must be a name of up to %d letters, digits, '.', '-' or '_'", maxInterface)
	case c.Bridge != "" && (!validInterface(c.Bridge) || c.Bridge == c.Name || c.Bridge == loopback):
		return bad("bridge: not a name of a bridge: %q", c.Bridge)
	case c.Bridge == "" && len(c.Members) > 0:
		return bad("members: must be empty without a bridge")
	case c.MTU < minMTU || c.MTU > maxMTU:
		return bad("mtu: must be %d to %d, got %d", minMTU, maxMTU, c.MTU)
	}
	for i, a := range c.Addresses {
		switch {
		case !a.IsValid() || a.Addr().Is4In6() || a.Addr().IsUnspecified() || a.Addr().IsMulticast() || a.Addr().IsLoopback():
			return bad("addresses: not the address of a host: %q", a)
		case a.Addr().Is6() && c.MTU < minMTU6:
			return bad("mtu: IPv6 wants at least %d, got %d", minMTU6, c.MTU)
		case slices.Contains(c.Addresses[:i], a):
			return bad("addresses: %q is there twice", a)
		}
	}
	for i, m := range c.Members {
		if !validInterface(m) || m == c.Name || m == c.Bridge || slices.Contains(c.Members[:i], m) {
			return bad("members: not an interface, or one that is there twice: %q", m)
		}
	}
	for _, r := range c.Routes {
		if !r.Destination.IsValid() || r.Destination != r.Destination.Masked() || r.Destination.Addr().Is4In6() {
			return bad("routes: not a network: %q", r.Destination)
		}
		if r.Gateway.IsValid() && r.Gateway.Is4() != r.Destination.Addr().Is4() {
			return bad("routes: gateway %q of %q is of another IP version", r.Gateway, r.Destination)
		}
	}
	return h.permitPort(c)
}

// permitPort checks all that a port needs against the options before anything is
// changed.
func (h *Host) permitPort(c multilink.PortConfig) error {
	var errs []error
	permit := func(needed bool, operation Operation, name string) {
		if needed {
			errs = append(errs, h.options.permit(operation, name))
		}
	}
	permit(true, TAP, c.Name)
	permit(len(c.Addresses) > 0, Addresses, c.Name)
	permit(len(c.Routes) > 0, Routes, c.Name)
	for _, m := range c.Members {
		permit(true, Members, m)
		errs = append(errs, h.options.touch(m))
	}
	if c.Bridge != "" {
		_, err := h.netlink.LinkByName(c.Bridge)
		permit(missing(err), Bridge, c.Bridge)
		if err == nil && !h.own(c.Bridge) {
			permit(true, Members, c.Bridge)
			errs = append(errs, h.options.touch(c.Bridge))
		}
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("create port %q: %w", c.Name, err)
		}
	}
	return nil
}

// step journals a change and applies it.
type step func(what change, apply func() error) error

// queueLength is how many frames wait in a TAP device before the kernel drops
// them. The usual 1,000 are a tenth of a second at 10,000 frames per second;
// on a busy machine a process may not run for that long.
const queueLength = 4096

// wire creates the bridge, addresses and routes of a TAP device. It returns the
// changes to undo, also when it fails.
func (h *Host) wire(c multilink.PortConfig) (changes []change, err error) {
	tap, err := h.netlink.LinkByName(c.Name)
	if err != nil {
		return nil, fmt.Errorf("find TAP device %q: %w", c.Name, err)
	}
	if err := h.netlink.LinkSetTxQLen(tap, queueLength); err != nil {
		return nil, fmt.Errorf("set queue of %q to %d: %w", c.Name, queueLength, err)
	}
	if err := h.netlink.LinkSetMTU(tap, c.MTU); err != nil {
		return nil, fmt.Errorf("set MTU of %q to %d: %w", c.Name, c.MTU, err)
	}
	do := func(what change, apply func() error) error {
		recorded, err := h.begin(what)
		if err != nil {
			return err
		}
		if err := apply(); err != nil {
			return errors.Join(err, h.journal.forget(recorded)) // nothing was done
		}
		changes = append(changes, recorded)
		return nil
	}
	host := tap // has the addresses
	if c.Bridge != "" {
		if host, err = h.wireBridge(c, tap, do); err != nil {
			return changes, err
		}
	} else if err := h.netlink.LinkSetHardwareAddr(tap, newMAC(2, c.Addresses)); err != nil {
		return changes, fmt.Errorf("set MAC address of %q: %w", c.Name, err)
	}
	if err := h.netlink.LinkSetUp(tap); err != nil {
		return changes, fmt.Errorf("enable %q: %w", c.Name, err)
	}
	if err := h.wireAddresses(c, host, do); err != nil {
		return changes, err
	}
	return changes, h.wireRoutes(c, host, do)
}

// wireBridge joins the port and members to a bridge, which it creates if need be.
func (h *Host) wireBridge(c multilink.PortConfig, tap netlink.Link, do step) (netlink.Link, error) {
	bridge, err := h.netlink.LinkByName(c.Bridge)
	if missing(err) {
		// With a fixed MAC address the bridge keeps it when members come and go.
		mac := newMAC(2, c.Addresses)
		attrs := netlink.NewLinkAttrs()
		attrs.Name = c.Bridge
		attrs.HardwareAddr = mac
		attrs.MTU = c.MTU
		err = do(change{Kind: changeBridge, Interface: c.Bridge, MAC: mac.String()}, func() error {
			return h.netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs})
		})
		if err != nil {
			return nil, fmt.Errorf("create bridge %q: %w", c.Bridge, err)
		}
		if bridge, err = h.netlink.LinkByName(c.Bridge); err == nil {
			err = errors.Join(h.netlink.LinkSetAlias(bridge, mark(h.options.Name)), h.netlink.LinkSetUp(bridge))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("set up bridge %q: %w", c.Bridge, err)
	}
	if bridge.Type() != "bridge" {
		return nil, fmt.Errorf("join bridge %q: it is a %s: %w", c.Bridge, bridge.Type(), multilink.ErrDuplicate)
	}
	// A bridge without a MAC address of its own takes the smallest of its
	// members': the port's is large, so that it never is.
	if err := h.netlink.LinkSetHardwareAddr(tap, newMAC(0xfe, nil)); err != nil {
		return nil, fmt.Errorf("set MAC address of %q: %w", c.Name, err)
	}
	// The port's membership goes with the port.
	if err := h.netlink.LinkSetMaster(tap, bridge); err != nil {
		return nil, fmt.Errorf("join %q to bridge %q: %w", c.Name, c.Bridge, err)
	}
	for _, member := range c.Members {
		if err := h.wireMember(member, bridge, do); err != nil {
			return nil, fmt.Errorf("join %q to bridge %q: %w", member, c.Bridge, err)
		}
	}
	return bridge, nil
}

func (h *Host) wireMember(name string, bridge netlink.Link, do step) error {
	member, err := h.netlink.LinkByName(name)
	if missing(err) {
		return fmt.Errorf("no such interface: %w", multilink.ErrUnknownLink)
	}
	if err != nil {
		return err
	}
	attrs := member.Attrs()
	switch attrs.MasterIndex {
	case bridge.Attrs().Index:
		return nil
	case 0:
	default:
		return fmt.Errorf("it is a member of another device: %w", multilink.ErrDuplicate)
	}
	err = do(change{Kind: changeMember, Interface: name, Index: attrs.Index, Bridge: bridge.Attrs().Name}, func() error {
		return h.netlink.LinkSetMaster(member, bridge)
	})
	if err != nil || attrs.Flags&net.FlagUp != 0 {
		return err
	}
	return do(change{Kind: changeUp, Interface: name, Index: attrs.Index}, func() error {
		return h.netlink.LinkSetUp(member)
	})
}

// wireAddresses adds the addresses to the interface, without detection of duplicates:
// no other host is reachable while no link is up.
func (h *Host) wireAddresses(c multilink.PortConfig, host netlink.Link, do step) error {
	for _, prefix := range c.Addresses {
		address := &netlink.Addr{IPNet: network(prefix)}
		if prefix.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD
		}
		there, err := h.hasAddress(host, prefix)
		if err != nil {
			return fmt.Errorf("list addresses of %q: %w", host.Attrs().Name, err)
		}
		if there {
			continue
		}
		what := change{Kind: changeAddress, Interface: host.Attrs().Name, Index: host.Attrs().Index, Address: prefix.String()}
		if err := do(what, func() error { return h.netlink.AddrAdd(host, address) }); err != nil {
			return fmt.Errorf("give address %q to %q: %w", prefix, host.Attrs().Name, err)
		}
	}
	return nil
}

func (h *Host) hasAddress(link netlink.Link, prefix netip.Prefix) (bool, error) {
	list, err := retryDump(func() ([]netlink.Addr, error) { return h.netlink.AddrList(link, netlink.FAMILY_ALL) })
	return slices.ContainsFunc(list, func(a netlink.Addr) bool { return a.IPNet != nil && a.IPNet.String() == prefix.String() }), err
}

// wireRoutes adds the routes. A route that exists has another owner.
func (h *Host) wireRoutes(c multilink.PortConfig, host netlink.Link, do step) error {
	for _, r := range c.Routes {
		what := change{Kind: changeRoute, Interface: host.Attrs().Name, Index: host.Attrs().Index, Destination: r.Destination.String()}
		if r.Gateway.IsValid() {
			what.Gateway = r.Gateway.String()
		}
		route, err := parseRoute(what, host)
		if err != nil {
			return fmt.Errorf("add route to %q: %w", r.Destination, err)
		}
		err = do(what, func() error { return h.netlink.RouteAdd(route) })
		switch {
		case errors.Is(err, unix.EEXIST):
			return fmt.Errorf("add route to %q through %q: there is one already: %w", r.Destination,
				host.Attrs().Name, multilink.ErrDuplicate)
		case errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EHOSTUNREACH):
			return fmt.Errorf("add route to %q through %q: gateway %q is not on its network: %w: %w", r.Destination,
				host.Attrs().Name, r.Gateway, err, multilink.ErrInvalid)
		case err != nil:
			return fmt.Errorf("add route to %q through %q: %w", r.Destination, host.Attrs().Name, err)
		}
	}
	return nil
}

// newMAC returns a MAC address with that first byte, which says that it is locally
// administered. It follows from the addresses, which are as unique on the
// bonded network: neighbours that remember it are right after a restart.
func newMAC(first byte, addresses []netip.Prefix) net.HardwareAddr {
	mac := net.HardwareAddr{first, 0, 0, 0, 0, 0}
	if len(addresses) == 0 {
		rand.Read(mac[1:])
		return mac
	}
	digest := sha256.Sum256([]byte("multilink MAC " + addresses[0].Addr().String()))
	copy(mac[1:], digest[:])
	return mac
}

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// retryDump repeats a listing that a change of the list interrupted.
func retryDump[T any](list func() ([]T, error)) ([]T, error) {
	for range 10 {
		if all, err := list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return list()
}
