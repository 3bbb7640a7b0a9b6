package host

import "encoding/binary"

// vnetSize is the length of a virtio_net_hdr without a count of buffers.
const vnetSize = 10

// Flags and types of a vnetHeader (virtio 1.2, section 5.1.6).
const (
	needsChecksum = 1

	gsoNone  = 0
	gsoTCPv4 = 1
	gsoTCPv6 = 4
	gsoUDP   = 5 // cut UDP datagrams, of either IP version
	gsoECN   = 0x80
)

// vnetHeader precedes every frame of a TAP device. It describes what is still to be
// done with the frame. Offsets count from the beginning of the frame.
type vnetHeader struct {
	flags          byte
	gso            byte
	headers        uint16 // length of all headers, as a hint
	size           uint16 // payload of a segment
	checksumStart  uint16
	checksumOffset uint16 // of the field, from checksumStart
}

// decode reads the first vnetSize bytes of b. Numbers are in the machine's order.
func (h *vnetHeader) decode(b []byte) {
	_ = b[vnetSize-1]
	h.flags, h.gso = b[0], b[1]
	h.headers = binary.NativeEndian.Uint16(b[2:])
	h.size = binary.NativeEndian.Uint16(b[4:])
	h.checksumStart = binary.NativeEndian.Uint16(b[6:])
	h.checksumOffset = binary.NativeEndian.Uint16(b[8:])
}

// encode writes the first vnetSize bytes of b.
func (h *vnetHeader) encode(b []byte) {
	_ = b[vnetSize-1]
	b[0], b[1] = h.flags, h.gso
	binary.NativeEndian.PutUint16(b[2:], h.headers)
	binary.NativeEndian.PutUint16(b[4:], h.size)
	binary.NativeEndian.PutUint16(b[6:], h.checksumStart)
	binary.NativeEndian.PutUint16(b[8:], h.checksumOffset)
}
