package netlab

import "net/netip"

// Side is one of the two hosts.
type Side int

// The hosts.
const (
	Client Side = iota
	Server
)

// Address is the address of a host on the link of that index.
func Address(side Side, link int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, 0, byte(2 + link), byte(1 + side)})
}
