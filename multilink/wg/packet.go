package wg

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/iotenablers/enablers/multilink"
)

// The IPv4 header (RFC 791, section 3.1) that wraps a packet of a bond. WireGuard
// reads the version, the total length and the addresses. The bond's header of
// nine bytes takes the fields in between.
const (
	innerHeader = 20
	// overhead is what wrapping adds: the rest of the packet follows the header.
	overhead = innerHeader - multilink.HeaderSize
	// maxPacket is the longest packet whose message fits into a datagram over
	// either version of IP, however WireGuard pads it.
	maxPacket = 65507 - 32 - 15 - 4 - overhead

	versionAndLength = 0x45
	offsetService    = 1  // one byte
	offsetTotal      = 2  // two bytes
	offsetIdentity   = 4  // eight bytes: identification, fragment, TTL, protocol, checksum
	offsetSource     = 12 // four bytes
	offsetTarget     = 16 // four bytes
)

// address is an end's name inside the tunnel, in the form of an IPv4 address.
type address [4]byte

// innerAddress returns the address of the end with the public key of, as the end with the
// key at uses it. Both ends compute it. It depends on both keys, so that two clients whose
// addresses are equal at one server have different ones at the next.
func innerAddress(of, at multilink.Key) address {
	h := sha256.New()
	h.Write([]byte("multilink inner address"))
	h.Write(of[:])
	h.Write(at[:])
	return address(h.Sum(nil))
}

// hide writes a packet of a bond, at least its header long, into dst as an IPv4
// packet and returns its length.
func hide(dst, packet []byte, source, target address) int {
	n := len(packet) + overhead
	dst = dst[:n]
	dst[0] = versionAndLength
	dst[offsetService] = packet[0]
	binary.BigEndian.PutUint16(dst[offsetTotal:], uint16(n))
	copy(dst[offsetIdentity:offsetSource], packet[1:multilink.HeaderSize])
	copy(dst[offsetSource:], source[:])
	copy(dst[offsetTarget:], target[:])
	copy(dst[innerHeader:], packet[multilink.HeaderSize:])
	return n
}

// reveal undoes hide in place: the packet that it returns lies in
// what it was given. It reports false for what hide cannot have written.
func reveal(inner []byte) (packet []byte, source address, ok bool) {
	if len(inner) < innerHeader || inner[0] != versionAndLength {
		return nil, address{}, false
	}
	n := int(binary.BigEndian.Uint16(inner[offsetTotal:]))
	if n < innerHeader || n > len(inner) {
		return nil, address{}, false
	}
	source = address(inner[offsetSource:offsetTarget])
	var header [multilink.HeaderSize]byte
	header[0] = inner[offsetService]
	copy(header[1:], inner[offsetIdentity:offsetSource])
	packet = inner[overhead:n]
	copy(packet, header[:])
	return packet, source, true
}
