// Package outbound decides which addresses a server may connect to on behalf of
// others. Without such a check, a configuration or a document could make the server
// call the inside of its own network (server-side request forgery).
//
// [Policy] allows public addresses, [Hosts] a list of hosts. Both check the address that
// is dialled, after names are resolved. A name that resolves to another address the
// second time therefore gains nothing. They are of use only where no proxy makes the
// connection: the transports that have them take none from the environment.
package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// ErrRefused reports an address that is neither public nor allowed.
var ErrRefused = errors.New("outbound: address refused")

// Policy lists the addresses, besides public ones, that a server may connect to. The
// zero value allows public addresses only. A policy must not be changed while it is
// in use.
type Policy struct {
	// Allow has the ranges that are allowed although they are not public.
	Allow []netip.Prefix
}

// Check returns nil if a server may connect to the address, and an error that wraps
// ErrRefused otherwise. An IPv4 address inside an IPv6 address (mapped, NAT64, 6to4)
// is checked as the IPv4 address.
func (p Policy) Check(address netip.Addr) error {
	if !address.IsValid() {
		return fmt.Errorf("%w: no address", ErrRefused)
	}
	address = inner(address.WithZone(""))
	if slices.ContainsFunc(p.Allow, func(r netip.Prefix) bool { return r.Contains(address) }) {
		return nil
	}
	if address.Is6() && !unicast.Contains(address) {
		return fmt.Errorf("%w: %s is not public", ErrRefused, address)
	}
	for _, r := range special {
		if r.Contains(address) {
			return fmt.Errorf("%w: %s is not public", ErrRefused, address)
		}
	}
	return nil
}

// Control is for the field Control of a net.Dialer. It refuses a connection before
// the connection is opened.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	end, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrRefused, address)
	}
	return p.Check(end.Addr())
}

// inner returns the IPv4 address inside an IPv6 address, or the address itself.
func inner(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a): // NAT64, RFC 6052
		return netip.AddrFrom4([4]byte(b[12:16]))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4, RFC 3056
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// unicast is the only range of IPv6 that IANA has assigned public addresses from
// (https://www.iana.org/assignments/ipv6-address-space). Loopback, unique local, link-local
// and multicast addresses lie outside of it, and so does what is not assigned yet.
var unicast = netip.MustParsePrefix("2000::/3")

// special has the ranges that servers on the Internet do not have, after IANA's registries
// of special-purpose addresses (RFC 6890, updated by RFC 8190), and multicast. A range stays
// whole although the registries have a few anycast addresses of protocols in it that are
// globally reachable.
var special = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("10.0.0.0/8"),       // private use
	netip.MustParsePrefix("100.64.0.0/10"),    // shared address space
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // not of a registry: the platform of every machine in Azure
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local
	netip.MustParsePrefix("172.16.0.0/12"),    // private use
	netip.MustParsePrefix("192.0.0.0/24"),     // IETF protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),   // private use
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarking
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("224.0.0.0/3"),      // multicast, reserved, broadcast

	netip.MustParsePrefix("2001::/23"),     // IETF protocol assignments, Teredo and ORCHID among them
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("3fff::/20"),     // documentation
}
