package host

import (
	"encoding/binary"
	"errors"

	"github.com/iotenablers/enablers/multilink"
)

// Why a frame cannot be cut or completed.
var (
	errTooLong  = errors.New("frame longer than a bond carries")
	errChecksum = errors.New("checksum outside of the frame")
	errHeaders  = errors.New("headers do not fit the kind of super-frame")
)

// segmenter cuts a super-frame into frames. The zero value has none.
//
// It follows what Linux does in software: identifiers of IPv4 count up, FIN and
// PSH stay with the last segment, CWR with the first (RFC 3168 section 6.1.2).
type segmenter struct {
	layers
	frame   []byte // with the super-frame's headers; used by next
	payload int    // where the payload begins
	size    int    // payload of a segment
	at      int    // where the next segment's payload begins
	count   int    // segments cut so far
	base    uint64 // sum of the pseudo-header without the length
	whole   bool   // the frame is one, complete, and not yet given
}

// reset starts with a frame and its header. The segmenter keeps the frame and
// changes it until next has returned 0.
func (s *segmenter) reset(h *vnetHeader, frame []byte) error {
	*s = segmenter{frame: frame}
	kind := h.gso &^ gsoECN
	if kind == gsoNone {
		if len(frame) > multilink.MaxFrame {
			return errTooLong
		}
		if h.flags&needsChecksum != 0 {
			if err := completeChecksum(h, frame); err != nil {
				return err
			}
		}
		s.whole = len(frame) > 0
		return nil
	}
	if err := s.locate(h, kind); err != nil {
		s.at = s.end // nothing to cut
		return err
	}
	return nil
}

// completeChecksum finishes a sum that so far is that of the pseudo-header.
func completeChecksum(h *vnetHeader, frame []byte) error {
	start := int(h.checksumStart)
	field := start + int(h.checksumOffset)
	if field+2 > len(frame) {
		return errChecksum
	}
	// The field is part of what is summed, so the pseudo-header is too.
	putChecksum(frame[field:], ^fold(sum(frame[start:], 0)))
	return nil
}

// putChecksum writes a sum that is never zero. In UDP zero means that there is no
// sum; elsewhere the two zeros of ones' complement are equal.
func putChecksum(field []byte, value uint16) {
	if value == 0 {
		value = 0xffff
	}
	binary.BigEndian.PutUint16(field, value)
}

// locate finds the headers of a super-frame.
func (s *segmenter) locate(h *vnetHeader, kind byte) error {
	var ok bool
	if s.network, s.v6, ok = networkLayer(s.frame); !ok || h.size == 0 {
		return errHeaders
	}
	switch {
	case kind == gsoTCPv4 && !s.v6, kind == gsoTCPv6 && s.v6:
		s.protocol = protocolTCP
	case kind == gsoUDP:
		s.protocol = protocolUDP
	default:
		return errHeaders
	}
	if err := s.locateTransport(h); err != nil {
		return err
	}
	field := tcpChecksum
	if s.protocol == protocolUDP {
		s.payload, field = s.transport+udpSize, udpChecksum
	} else if s.transport+tcpSize <= s.end {
		s.payload = s.transport + int(s.frame[s.transport+12]>>4)*4
	}
	s.size = int(h.size)
	switch {
	case s.payload < s.transport+udpSize || (s.protocol == protocolTCP && s.payload < s.transport+tcpSize),
		s.payload >= s.end:
		return errHeaders
	case s.payload+s.size > multilink.MaxFrame && s.end > multilink.MaxFrame:
		return errTooLong
	}
	if h.flags&needsChecksum == 0 {
		s.base = pseudo(s.addresses(s.frame), s.protocol, 0)
	} else {
		if int(h.checksumOffset) != field {
			return errHeaders
		}
		// What is in the field is the sum with the length of the whole. Taking
		// it, rather than the addresses, also suits a routing header of IPv6.
		partial := binary.BigEndian.Uint16(s.frame[s.transport+field:])
		s.base = uint64(partial) + uint64(^uint16(s.end-s.transport))
	}
	s.at = s.payload
	return nil
}

// locateTransport finds the header behind that of IP, and the packet's end.
func (s *segmenter) locateTransport(h *vnetHeader) error {
	ip := s.frame[s.network:]
	partial := h.flags&needsChecksum != 0
	var length int
	if s.v6 {
		s.transport = s.network + ipv6Size
		if ip[6] != s.protocol {
			// Extension headers: the kernel says where they end.
			if !partial || int(h.checksumStart) < s.transport {
				return errHeaders
			}
			s.transport = int(h.checksumStart)
		}
		length = ipv6Size + int(binary.BigEndian.Uint16(ip[4:]))
	} else {
		s.transport = s.network + int(ip[0]&15)*4
		fragment := binary.BigEndian.Uint16(ip[6:])&0x3fff != 0
		if ip[9] != s.protocol || fragment || s.transport < s.network+ipv4Size {
			return errHeaders
		}
		length = int(binary.BigEndian.Uint16(ip[2:]))
	}
	s.end = len(s.frame)
	if over := s.network + length; over > s.transport && over < s.end {
		s.end = over // what follows is padding
	}
	if (partial && int(h.checksumStart) != s.transport) || s.transport+udpSize > s.end {
		return errHeaders
	}
	return nil
}

// more reports whether next has another frame to give.
func (s *segmenter) more() bool { return s.whole || s.at < s.end }

// next writes the next frame to out, which has MaxFrame bytes, and returns its
// length. Zero means that there is none.
func (s *segmenter) next(out []byte) int {
	if s.whole {
		s.whole = false
		return copy(out, s.frame)
	}
	if s.at >= s.end {
		return 0
	}
	size := min(s.size, s.end-s.at)
	last := s.at+size == s.end
	n := s.payload + size
	out = out[:n]
	copy(out, s.frame[:s.payload])
	copy(out[s.payload:], s.frame[s.at:s.at+size])

	ip := out[s.network:]
	if s.v6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(n-s.network-ipv6Size))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(n-s.network))
		binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+uint16(s.count))
		binary.BigEndian.PutUint16(ip[10:], 0)
		binary.BigEndian.PutUint16(ip[10:], ^fold(sum(out[s.network:s.transport], 0)))
	}
	s.finishTransport(out[s.transport:], last)
	s.at += size
	s.count++
	return n
}

// finishTransport adjusts the header of TCP or UDP that segment begins with.
func (s *segmenter) finishTransport(segment []byte, last bool) {
	field := segment[udpChecksum:]
	if s.protocol == protocolUDP {
		binary.BigEndian.PutUint16(segment[4:], uint16(len(segment)))
	} else {
		field = segment[tcpChecksum:]
		sequence := binary.BigEndian.Uint32(segment[4:]) + uint32(s.at-s.payload)
		binary.BigEndian.PutUint32(segment[4:], sequence)
		if !last {
			segment[13] &^= flagFIN | flagPSH
		}
		if s.count > 0 {
			segment[13] &^= flagCWR
		}
	}
	field[0], field[1] = 0, 0
	putChecksum(field, ^fold(sum(segment, s.base+uint64(len(segment)))))
}
