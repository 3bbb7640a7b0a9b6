package host

import (
	"bytes"
	"encoding/binary"
)

const (
	// maxGroups is how many connections are joined side by side.
	maxGroups = 8
	// maxSegments of a super-frame. 65,535 bytes of segments of 512 bytes.
	maxSegments = 128
	// maxHeaders of a segment that is joined: two VLAN tags, IPv6, TCP options.
	maxHeaders = etherSize + 2*vlanSize + ipv6Size + 60
)

// coalescer joins the TCP segments of a batch into super-frames. The frames of
// a connection keep their order, and frames that are not joined keep their place.
// Only frames of different connections may overtake one another.
//
// Cutting a super-frame gives the joined frames back byte for byte. The rules are
// those of Linux's GRO; in addition the TCP window must be the same.
type coalescer struct {
	// put takes a super-frame, or a whole frame in head with an empty header.
	put    func(h vnetHeader, head []byte, payload [][]byte)
	groups [maxGroups]*group // the first open ones are in use, oldest first
	open   int
}

// newCoalescer returns a coalescer that passes its output to put.
func newCoalescer(put func(h vnetHeader, head []byte, payload [][]byte)) *coalescer {
	c := &coalescer{put: put}
	for i := range c.groups {
		c.groups[i] = new(group)
	}
	return c
}

// group is the beginning of a super-frame.
type group struct {
	layers
	first    []byte           // the frame that it began with
	head     [maxHeaders]byte // a copy of its headers, to be changed
	payload  int              // where the payload begins
	size     int              // payload of its segments
	length   int              // payload of all together
	sequence uint32           // of the next segment
	counting bool             // identifiers of IPv4 count up: known from the second on
	parts    [maxSegments][]byte
	count    int
}

// segment is a frame with what a coalescer reads of it.
type segment struct {
	layers
	payload int
	tcp     bool // has ports that identify its connection
	fits    bool // may be joined with others
}

// add takes the next frame of a batch. It is kept until flush.
func (c *coalescer) add(frame []byte) {
	s := inspect(frame)
	if !s.tcp {
		c.flush()
		c.put(vnetHeader{}, frame, nil)
		return
	}
	at := c.find(&s, frame)
	if at >= 0 {
		g := c.groups[at]
		if s.fits && g.matches(&s, frame) && g.valid() {
			if !s.validChecksum(frame) {
				c.close(at)
				c.put(vnetHeader{}, frame, nil)
				return
			}
			g.append(&s, frame)
			if g.full() {
				c.close(at)
			}
			return
		}
		c.close(at)
	}
	if !s.fits || frame[s.transport+13]&flagPSH != 0 {
		c.put(vnetHeader{}, frame, nil)
		return
	}
	if c.open == maxGroups {
		c.close(0)
	}
	c.groups[c.open].begin(&s, frame)
	c.open++
}

// flush emits all open groups, and keeps no frame.
func (c *coalescer) flush() {
	for i := range c.open {
		c.emit(c.groups[i])
	}
	c.open = 0
}

// close emits the group at an index and moves the later ones up.
func (c *coalescer) close(at int) {
	closed := c.groups[at]
	c.emit(closed)
	c.open--
	copy(c.groups[at:c.open], c.groups[at+1:])
	c.groups[c.open] = closed
}

// find returns the group of a frame's connection, or -1.
func (c *coalescer) find(s *segment, frame []byte) int {
	ports := frame[s.transport : s.transport+4]
	for i := range c.open {
		g := c.groups[i]
		if g.network == s.network && g.v6 == s.v6 &&
			bytes.Equal(g.first[g.transport:g.transport+4], ports) &&
			bytes.Equal(g.addresses(g.first), s.addresses(frame)) &&
			bytes.Equal(g.first[:g.network], frame[:s.network]) {
			return i
		}
	}
	return -1
}

// inspect reads the headers of a frame.
func inspect(frame []byte) segment {
	var s segment
	var ok bool
	if s.network, s.v6, ok = networkLayer(frame); !ok {
		return segment{}
	}
	ip := frame[s.network:]
	exact := false
	if s.v6 {
		s.transport, s.protocol = s.network+ipv6Size, ip[6]
		s.end = s.transport + int(binary.BigEndian.Uint16(ip[4:]))
		exact = s.end == len(frame)
	} else {
		s.transport, s.protocol = s.network+int(ip[0]&15)*4, ip[9]
		s.end = s.network + int(binary.BigEndian.Uint16(ip[2:]))
		exact = s.end == len(frame) && ip[0] == 0x45
		if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
			return segment{} // a fragment
		}
	}
	if s.protocol != protocolTCP || s.transport < s.network+ipv4Size || s.transport+tcpSize > len(frame) {
		return segment{}
	}
	s.tcp = true
	tcp := frame[s.transport:]
	s.payload = s.transport + int(tcp[12]>>4)*4
	s.fits = exact && tcp[13]&^(flagPSH|flagECE) == flagACK && s.network <= etherSize+2*vlanSize &&
		s.payload >= s.transport+tcpSize && s.payload < len(frame)
	return s
}

// validChecksum reports whether a segment may stand behind a new checksum.
func (s *segment) validChecksum(frame []byte) bool {
	return validChecksum(&s.layers, frame)
}

func validChecksum(l *layers, frame []byte) bool {
	if !l.v6 && fold(sum(frame[l.network:l.transport], 0)) != 0xffff {
		return false
	}
	base := pseudo(l.addresses(frame), protocolTCP, len(frame)-l.transport)
	return fold(sum(frame[l.transport:], base)) == 0xffff
}

// begin makes frame the first of a group.
func (g *group) begin(s *segment, frame []byte) {
	g.layers = s.layers
	g.payload = s.payload
	g.first = frame
	g.size = len(frame) - s.payload
	g.length = g.size
	g.sequence = binary.BigEndian.Uint32(frame[s.transport+4:]) + uint32(g.size)
	g.parts[0] = frame[s.payload:]
	g.count = 1
}

// valid reports whether the first frame's checksums are right. Those of the
// others were checked before they joined.
func (g *group) valid() bool { return g.count > 1 || validChecksum(&g.layers, g.first) }

// matches reports whether a frame of the same connection is the next segment.
func (g *group) matches(s *segment, frame []byte) bool {
	size := len(frame) - s.payload
	if s.payload != g.payload || size > g.size || g.payload-g.network+g.length+size > maxIP {
		return false
	}
	have, add := g.first[g.transport:g.payload], frame[s.transport:s.payload]
	return binary.BigEndian.Uint32(add[4:]) == g.sequence &&
		bytes.Equal(have[8:13], add[8:13]) && // acknowledgement, length
		(have[13]^add[13])&^flagPSH == 0 &&
		bytes.Equal(have[14:16], add[14:16]) && // window
		bytes.Equal(have[18:], add[18:]) && // options
		g.matchesIP(g.first[g.network:], frame[s.network:])
}

// matchesIP compares the other fields of the IP headers.
func (g *group) matchesIP(have, add []byte) bool {
	if g.v6 {
		return bytes.Equal(have[:4], add[:4]) && have[7] == add[7]
	}
	if have[1] != add[1] || have[8] != add[8] || !bytes.Equal(have[6:8], add[6:8]) {
		return false
	}
	// Identifiers count up, or are all the same where that means nothing
	// (RFC 6864 section 4.1).
	step := binary.BigEndian.Uint16(add[4:]) - binary.BigEndian.Uint16(have[4:])
	counts, stays := step == uint16(g.count), step == 0 && have[6]&0x40 != 0
	if g.count == 1 {
		g.counting = counts
		return counts || stays
	}
	return (g.counting && counts) || (!g.counting && stays)
}

// append makes frame the group's next segment.
func (g *group) append(s *segment, frame []byte) {
	if g.count == 1 {
		copy(g.head[:], g.first[:g.payload])
	}
	size := len(frame) - s.payload
	g.parts[g.count] = frame[s.payload:]
	g.count++
	g.length += size
	g.sequence += uint32(size)
	g.head[g.transport+13] |= frame[s.transport+13] & flagPSH
}

// full reports whether nothing can follow the last segment.
func (g *group) full() bool {
	return g.count == maxSegments || len(g.parts[g.count-1]) < g.size || g.head[g.transport+13]&flagPSH != 0
}

// emit outputs a group as one super-frame, or its only frame as it is.
func (c *coalescer) emit(g *group) {
	if g.count == 1 {
		c.put(vnetHeader{}, g.first, nil)
	} else {
		h := vnetHeader{flags: needsChecksum, gso: gsoTCPv4, headers: uint16(g.payload), size: uint16(g.size),
			checksumStart: uint16(g.transport), checksumOffset: tcpChecksum}
		ip := g.head[g.network:]
		length := g.payload - g.network + g.length
		if g.v6 {
			h.gso = gsoTCPv6
			binary.BigEndian.PutUint16(ip[4:], uint16(length-ipv6Size))
		} else {
			binary.BigEndian.PutUint16(ip[2:], uint16(length))
			binary.BigEndian.PutUint16(ip[10:], 0)
			binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:ipv4Size], 0)))
		}
		partial := fold(pseudo(g.addresses(g.head[:]), protocolTCP, g.payload-g.transport+g.length))
		binary.BigEndian.PutUint16(g.head[g.transport+tcpChecksum:], partial)
		c.put(h, g.head[:g.payload], g.parts[:g.count])
	}
	clear(g.parts[:g.count])
	g.first = nil
}
