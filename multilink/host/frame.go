package host

import "encoding/binary"

// Numbers of Ethernet, IP and TCP that segmenting and coalescing need.
const (
	etherSize = 14
	vlanSize  = 4

	typeIPv4 = 0x0800
	typeVLAN = 0x8100
	typeIPv6 = 0x86dd
	typeQinQ = 0x88a8

	ipv4Size = 20
	ipv6Size = 40
	tcpSize  = 20
	udpSize  = 8

	protocolTCP = 6
	protocolUDP = 17

	flagFIN = 0x01
	flagPSH = 0x08
	flagACK = 0x10
	flagECE = 0x40
	flagCWR = 0x80

	tcpChecksum = 16 // offset of the field in the header
	udpChecksum = 6

	maxIP = 65535 // length of an IPv4 packet, and of an IPv6 payload
)

// layers are the places of a frame's headers.
type layers struct {
	network   int // of IP
	transport int // of TCP or UDP
	end       int // of the packet: padding follows
	v6        bool
	protocol  byte
}

// networkLayer finds the IP header behind any VLAN tags.
func networkLayer(frame []byte) (at int, v6, ok bool) {
	for at = etherSize; at <= len(frame); at += vlanSize {
		switch binary.BigEndian.Uint16(frame[at-2:]) {
		case typeIPv4:
			return at, false, len(frame) >= at+ipv4Size && frame[at]>>4 == 4
		case typeIPv6:
			return at, true, len(frame) >= at+ipv6Size && frame[at]>>4 == 6
		case typeVLAN, typeQinQ:
		default:
			return 0, false, false
		}
	}
	return 0, false, false
}

// addresses returns those of the IP header at l.network, source first.
func (l *layers) addresses(frame []byte) []byte {
	if l.v6 {
		return frame[l.network+8 : l.network+40]
	}
	return frame[l.network+12 : l.network+20]
}
