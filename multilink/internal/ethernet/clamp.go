package ethernet

import "encoding/binary"

// ClampMSS lowers the maximum segment size that a TCP SYN offers, in place and
// with its checksum, so that the segments of the connection fit into frames of
// size bytes and need no pieces. It reports whether it did. Frames that are
// anything else, malformed, cut off or in fragments are left alone, and so are
// offers that are low enough. The frame's checksum must be whole: a device
// with offload completes it before. RFC 9293, section 3.7.1; RFC 1624.
func ClampMSS(frame []byte, size int) bool {
	const (
		leastMSS = 536 // RFC 9293: what every host takes
		flagSYN  = 0x02
		optEnd   = 0
		optNone  = 1
		optMSS   = 2
	)
	if len(frame) < 14+20+20 {
		return false
	}
	var h Headers
	h.parse(frame)
	if !h.ports || h.fragment || h.protocol != protocolTCP || h.end > len(frame) || h.end < h.transport+20 {
		return false
	}
	segment := frame[h.transport:h.end]
	header := int(segment[12]>>4) * 4
	if segment[13]&flagSYN == 0 || header < 20 || header > len(segment) {
		return false
	}
	network := 20
	if h.six {
		network = 40
	}
	limit := max(size-h.network-network-20, leastMSS)
	for at := 20; at < header; {
		switch kind := segment[at]; {
		case kind == optEnd:
			return false
		case kind == optNone:
			at++
			continue
		case at+1 >= header || segment[at+1] < 2 || at+int(segment[at+1]) > header:
			return false
		case kind != optMSS:
			at += int(segment[at+1])
			continue
		case segment[at+1] != 4:
			return false
		}
		offer := binary.BigEndian.Uint16(segment[at+2:])
		if int(offer) <= limit {
			return false
		}
		lower := uint16(limit)
		binary.BigEndian.PutUint16(segment[at+2:], lower)
		from, to := offer, lower
		if at%2 != 0 {
			// The option lies across two words of the sum, which swaps the
			// bytes of what it adds.
			from, to = from<<8|from>>8, to<<8|to>>8
		}
		binary.BigEndian.PutUint16(segment[16:], adjustSum(binary.BigEndian.Uint16(segment[16:]), from, to))
		return true
	}
	return false
}

// adjustSum returns the Internet checksum after a word changed: RFC 1624, equation 3.
func adjustSum(sum, from, to uint16) uint16 {
	s := uint32(^sum) + uint32(^from) + uint32(to)
	s = s&0xffff + s>>16
	s = s&0xffff + s>>16
	return ^uint16(s)
}
