// Package clientaddr says by which address a client counts, for bounds and rate limits of
// client addresses.
package clientaddr

import "net/netip"

// network is the length in bits of the prefix of an IPv6 network, all of whose addresses one
// machine can have (RFC 4291 section 2.5.1).
const network = 64

// Of returns the address that a client counts by: the first 64 bits of an IPv6 address, and
// an IPv4 address as it is, also one that is mapped to IPv6. The zero Addr counts as itself.
func Of(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if !address.Is6() {
		return address
	}
	prefix, err := address.Prefix(network)
	if err != nil {
		return netip.Addr{}
	}
	return prefix.Addr()
}

// OfRemote is Of for the other end of a connection, as host:port. All that cannot be read
// count as one, the zero Addr.
func OfRemote(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return Of(at.Addr())
}
