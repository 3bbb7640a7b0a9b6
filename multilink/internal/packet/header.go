package packet

import (
	"encoding/binary"
)

// HeaderSize is the length of the header that every packet of a bond begins
// with: one byte of type and flags and eight of sequence number.
const HeaderSize = 9

// MaxFrame is the length of the longest frame that a bond carries: a payload of
// 9,000 bytes, the address fields and two VLAN tags.
const MaxFrame = 9000 + 14 + 8

// The first byte of a packet has the version in its two highest bits, then
// three bits of type, then three that are reserved: sent as zero and ignored.
const (
	wireVersion = 1

	TypeData     = 1 // a whole frame follows
	TypeFragment = 2 // a piece of a frame follows
	TypeProbe    = 3 // a probe follows

	// sequenceBits is the length of a sequence number. The 16 bits above it
	// tag the sender's epoch. A million packets per second take nine years to
	// use them up.
	sequenceBits = 48
	SequenceMask = 1<<sequenceBits - 1
)

// Header begins every packet of a bond.
type Header struct {
	Kind     uint8
	Tag      uint16 // of the sender's epoch
	Sequence uint64 // of the data, or of the probe among those of all links
}

// Put writes h to the first HeaderSize bytes of p.
func (h Header) Put(p []byte) {
	p[0] = wireVersion<<6 | h.Kind<<3
	binary.BigEndian.PutUint64(p[1:HeaderSize], uint64(h.Tag)<<sequenceBits|h.Sequence&SequenceMask)
}

// ParseHeader reads the header of a packet. It reports whether there is one of
// a version and type that are known.
func ParseHeader(p []byte) (Header, bool) {
	if len(p) < HeaderSize || p[0]>>6 != wireVersion {
		return Header{}, false
	}
	number := binary.BigEndian.Uint64(p[1:HeaderSize])
	h := Header{Kind: p[0] >> 3 & 7, Tag: uint16(number >> sequenceBits), Sequence: number & SequenceMask}
	return h, h.Kind >= TypeData && h.Kind <= TypeProbe
}

// EpochTag returns the part of an epoch that every packet carries.
func EpochTag(epoch uint64) uint16 { return uint16(epoch) }
