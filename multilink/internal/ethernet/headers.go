package ethernet

import "encoding/binary"

// EtherTypes that decide where a frame's payload begins and what it is.
const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100 // IEEE 802.1Q, C-tag
	etherQinQ = 0x88a8 // IEEE 802.1Q, S-tag
	etherOld  = 0x9100 // of outer tags before there was an S-tag

	protocolTCP  = 6
	protocolUDP  = 17
	protocolSCTP = 132

	// maxExtensions bounds how many headers of IPv6 are followed.
	maxExtensions = 8
)

// Headers are what is read of a frame. What is not there, or cut off, is
// zero and its flag false.
type Headers struct {
	tagged    bool
	vlan      uint16 // of the outer tag
	priority  uint8  // of the outer tag
	etherType uint16 // behind the tags
	network   int    // where the payload of Ethernet begins

	ip       bool // IPv4 or IPv6, with a whole header
	six      bool
	dscp     uint8
	protocol uint8
	addr     [2]ipAddress // source, destination
	// transport is where the header of the protocol begins, and end where the
	// packet does by its own account. Both are 0 in later fragments, and where
	// the headers go on for too long.
	transport, end  int
	fragment        bool
	ports           bool
	source, destiny uint16
}

// ipAddress is an address in 128 bits; IPv4's are in the lower 32.
type ipAddress struct{ high, low uint64 }

func isTag(etherType uint16) bool {
	return etherType == etherVLAN || etherType == etherQinQ || etherType == etherOld
}

// parse reads the headers of a frame, as far as they are there.
func (h *Headers) parse(frame []byte) {
	*h = Headers{}
	if len(frame) < 14 {
		return
	}
	at := 12
	etherType := binary.BigEndian.Uint16(frame[at:])
	for range 2 {
		if !isTag(etherType) {
			break
		}
		if len(frame) < at+6 {
			return
		}
		if tag := binary.BigEndian.Uint16(frame[at+2:]); !h.tagged {
			h.tagged = true
			h.vlan = tag & 0x0fff
			h.priority = uint8(tag >> 13)
		}
		at += 4
		etherType = binary.BigEndian.Uint16(frame[at:])
	}
	h.etherType = etherType
	h.network = at + 2
	switch etherType {
	case etherIPv4:
		h.parseIPv4(frame)
	case etherIPv6:
		h.parseIPv6(frame)
	}
}

func (h *Headers) parseIPv4(frame []byte) {
	p := frame[h.network:]
	if len(p) < 20 || p[0]>>4 != 4 {
		return
	}
	size := int(p[0]&0x0f) * 4
	total := int(binary.BigEndian.Uint16(p[2:]))
	if size < 20 || len(p) < size || total < size {
		return
	}
	h.ip = true
	h.dscp = p[1] >> 2
	h.protocol = p[9]
	h.addr[0].low = uint64(binary.BigEndian.Uint32(p[12:]))
	h.addr[1].low = uint64(binary.BigEndian.Uint32(p[16:]))
	part := binary.BigEndian.Uint16(p[6:])
	h.fragment = part&0x3fff != 0 // more to come, or an offset
	if part&0x1fff != 0 {
		return
	}
	h.transport, h.end = h.network+size, h.network+total
	h.parsePorts(frame)
}

func (h *Headers) parseIPv6(frame []byte) {
	p := frame[h.network:]
	if len(p) < 40 || p[0]>>4 != 6 {
		return
	}
	h.ip, h.six = true, true
	h.dscp = (p[0]<<4 | p[1]>>4) >> 2
	for i := range h.addr {
		h.addr[i].high = binary.BigEndian.Uint64(p[8+16*i:])
		h.addr[i].low = binary.BigEndian.Uint64(p[16+16*i:])
	}
	h.protocol = p[6]
	end := h.network + 40 + int(binary.BigEndian.Uint16(p[4:]))
	at := h.network + 40
	for range maxExtensions {
		var size int
		switch h.protocol {
		case 0, 43, 60, 135, 139, 140: // hop by hop, routing, destination, mobility, HIP, shim6
			if len(frame) < at+8 {
				return
			}
			size = 8 + 8*int(frame[at+1])
		case 51: // authentication
			if len(frame) < at+8 {
				return
			}
			size = 8 + 4*int(frame[at+1])
		case 44: // fragment
			if len(frame) < at+8 {
				return
			}
			size = 8
			part := binary.BigEndian.Uint16(frame[at+2:])
			h.fragment = h.fragment || part&^6 != 0
			if part>>3 != 0 {
				h.protocol = frame[at]
				return
			}
		default:
			h.transport, h.end = at, end
			h.parsePorts(frame)
			return
		}
		h.protocol = frame[at]
		at += size
		if at > len(frame) {
			return
		}
	}
}

func (h *Headers) parsePorts(frame []byte) {
	if h.protocol != protocolTCP && h.protocol != protocolUDP && h.protocol != protocolSCTP {
		return
	}
	if end := min(len(frame), h.end); end >= h.transport+4 {
		h.ports = true
		h.source = binary.BigEndian.Uint16(frame[h.transport:])
		h.destiny = binary.BigEndian.Uint16(frame[h.transport+2:])
	}
}
