// Package guard decides which addresses a server may connect to on behalf of
// others, so that a configuration or a document cannot make it call the inside of
// its own network (server-side request forgery).
//
// The decision is made on the address that is dialled, after names are resolved, so
// that a name which resolves to another address the second time gains nothing.
package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// ErrRefused means that an address is not public and not allowed.
var ErrRefused = errors.New("guard: address refused")

// Policy is which addresses besides public ones may be connected to. The zero
// value allows public ones only. It must not be changed while it is used.
type Policy struct {
	// Allow are the ranges that are allowed whatever they are.
	Allow []netip.Prefix
}

// Check returns nil if an address may be connected to, and an error that wraps
// ErrRefused if not. IPv4 addresses inside of IPv6 addresses (mapped, NAT64, 6to4)
// count as what they are.
func (p Policy) Check(address netip.Addr) error {
	if !address.IsValid() {
		return fmt.Errorf("%w: none given", ErrRefused)
	}
	address = inner(address.WithZone(""))
	if slices.ContainsFunc(p.Allow, func(r netip.Prefix) bool { return r.Contains(address) }) {
		return nil
	}
	for _, r := range special() {
		if r.Contains(address) {
			return fmt.Errorf("%w: %s is not public", ErrRefused, address)
		}
	}
	return nil
}

// Control is a net.Dialer's Control function: it refuses a connection before it is
// made.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	end, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", ErrRefused, address)
	}
	return p.Check(end.Addr())
}

// inner returns the IPv4 address that is inside of an IPv6 one, if there is.
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

// special are the ranges that are not globally reachable, after the registries of
// special-purpose addresses (RFC 6890), and multicast.
func special() []netip.Prefix { return specialRanges[:] }

var specialRanges = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("224.0.0.0/3"),
	netip.MustParsePrefix("::/127"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("ff00::/8"),
}
