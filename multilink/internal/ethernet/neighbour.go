package ethernet

import (
	"encoding/binary"
	"net/netip"
)

// Where an end claims an address of IP for its Ethernet address: ARP (RFC 826) and
// Neighbor Discovery (RFC 4861).
const (
	etherARP       = 0x0806
	arpLength      = 28 // for Ethernet and IPv4
	arpSender      = 14 // where the sender's address of IPv4 is
	protocolICMPv6 = 58
	icmpRouterAsk  = 133 // the first of those whose source becomes a neighbour
	icmpNeighbour  = 136 // an advertisement, the last of them; its target does so too
	icmpTarget     = 8   // where that is
)

// claimed appends the addresses of IP that a frame claims for its sender.
func claimed(to []netip.Addr, frame []byte) []netip.Addr {
	var h Headers
	h.parse(frame)
	switch {
	case h.etherType == etherARP:
		p := frame[h.network:]
		if len(p) >= arpLength && binary.BigEndian.Uint16(p[2:]) == etherIPv4 && p[4] == 6 && p[5] == 4 {
			to = append(to, netip.AddrFrom4([4]byte(p[arpSender:])))
		}
	case h.six && h.protocol == protocolICMPv6 && h.transport > 0 && len(frame) > h.transport:
		kind := frame[h.transport]
		if kind < icmpRouterAsk || kind > icmpNeighbour {
			return to
		}
		to = append(to, netip.AddrFrom16([16]byte(frame[h.network+8:])))
		if target := h.transport + icmpTarget; kind == icmpNeighbour && len(frame) >= target+16 {
			to = append(to, netip.AddrFrom16([16]byte(frame[target:])))
		}
	}
	return to
}

// Assign says which port has which addresses of IP. Where peers are isolated, a frame of
// a peer that claims an address of another port is dropped. The map is not to be changed
// afterwards.
func (s *Switch) Assign(addresses map[netip.Addr]Port) { s.assigned.Store(&addresses) }

// impostor returns the port whose address of IP a frame of a peer claims.
func (s *Switch) impostor(from Port, frame []byte) (owner Port, address netip.Addr, found bool) {
	assigned := s.assigned.Load()
	if !s.isolate || from == LocalPort || assigned == nil || len(*assigned) == 0 {
		return 0, netip.Addr{}, false
	}
	var room [2]netip.Addr
	for _, address := range claimed(room[:0], frame) {
		if owner, known := (*assigned)[address]; known && owner != from {
			return owner, address, true
		}
	}
	return 0, netip.Addr{}, false
}
