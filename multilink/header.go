package multilink

import "encoding/binary"

// The first byte of a packet has the version in its two highest bits, then
// three bits of type, then three that are reserved: sent as zero and ignored.
const (
	wireVersion = 1

	typeData     = 1 // a whole frame follows
	typeFragment = 2 // a piece of a frame follows
	typeProbe    = 3 // a probe follows

	// sequenceBits is the length of a sequence number. The 16 bits above it
	// tag the sender's epoch. A million packets a second take nine years to
	// use them up.
	sequenceBits = 48
	sequenceMask = 1<<sequenceBits - 1
)

// header begins every packet of a bond.
type header struct {
	kind     uint8
	tag      uint16 // of the sender's epoch
	sequence uint64 // of the data, or of the probe among those of all links
}

// put writes h to the first HeaderSize bytes of p.
func (h header) put(p []byte) {
	p[0] = wireVersion<<6 | h.kind<<3
	binary.BigEndian.PutUint64(p[1:HeaderSize], uint64(h.tag)<<sequenceBits|h.sequence&sequenceMask)
}

// parseHeader reads the header of a packet. It reports whether there is one of
// a version and type that are known.
func parseHeader(p []byte) (header, bool) {
	if len(p) < HeaderSize || p[0]>>6 != wireVersion {
		return header{}, false
	}
	number := binary.BigEndian.Uint64(p[1:HeaderSize])
	h := header{kind: p[0] >> 3 & 7, tag: uint16(number >> sequenceBits), sequence: number & sequenceMask}
	return h, h.kind >= typeData && h.kind <= typeProbe
}

// epochTag is the part of an epoch that every packet carries.
func epochTag(epoch uint64) uint16 { return uint16(epoch) }
