package ethernet_test

import (
	"encoding/binary"
	"net/netip"
)

// packetSpec is a packet of IP, built by the book.
type packetSpec struct {
	tags             []uint32 // EtherType and TCI of VLAN tags
	from, to         netip.Addr
	dscp             int
	protocol         byte
	source, destiny  uint16
	fragment         uint16 // as in the header of its version
	ipOptions        int    // bytes, a multiple of 4, for IPv4
	extensions       []byte // of IPv6, each of 8 bytes
	tcpFlags         byte
	tcpOptions       []byte // a multiple of 4 bytes
	payload, padding int
}

func (s packetSpec) frame() []byte {
	var transport []byte
	if s.protocol == 6 {
		transport = make([]byte, 20, 100)
		binary.BigEndian.PutUint16(transport, s.source)
		binary.BigEndian.PutUint16(transport[2:], s.destiny)
		transport[12] = byte((20 + len(s.tcpOptions)) / 4 << 4)
		transport[13] = s.tcpFlags
		transport = append(transport, s.tcpOptions...)
	} else {
		transport = make([]byte, 8)
		binary.BigEndian.PutUint16(transport, s.source)
		binary.BigEndian.PutUint16(transport[2:], s.destiny)
		binary.BigEndian.PutUint16(transport[4:], uint16(8+s.payload))
	}
	transport = append(transport, make([]byte, s.payload)...)
	if s.protocol == 6 {
		binary.BigEndian.PutUint16(transport[16:], ^sum16(s.pseudo(len(transport)), transport))
	}

	frame := make([]byte, 12, 200)
	frame[5], frame[11] = 1, 2
	for _, tag := range s.tags {
		frame = binary.BigEndian.AppendUint32(frame, tag)
	}
	if s.from.Is4() {
		frame = binary.BigEndian.AppendUint16(frame, 0x0800)
		header := make([]byte, 20+s.ipOptions)
		header[0] = 0x40 | byte(len(header)/4)
		header[1] = byte(s.dscp << 2)
		binary.BigEndian.PutUint16(header[2:], uint16(len(header)+len(transport)))
		binary.BigEndian.PutUint16(header[6:], s.fragment)
		header[8], header[9] = 64, s.protocol
		copy(header[12:], s.from.AsSlice())
		copy(header[16:], s.to.AsSlice())
		frame = append(frame, header...)
	} else {
		frame = binary.BigEndian.AppendUint16(frame, 0x86dd)
		header := make([]byte, 40)
		header[0] = 0x60 | byte(s.dscp>>2)
		header[1] = byte(s.dscp << 6)
		header[6] = s.protocol
		var chain []byte
		for i := len(s.extensions) - 1; i >= 0; i-- {
			extension := []byte{header[6], 0, 0, 0, 0, 0, 0, 0}
			if s.extensions[i] == 44 {
				binary.BigEndian.PutUint16(extension[2:], s.fragment)
			}
			chain = append(extension, chain...)
			header[6] = s.extensions[i]
		}
		binary.BigEndian.PutUint16(header[4:], uint16(len(chain)+len(transport)))
		copy(header[8:], s.from.AsSlice())
		copy(header[24:], s.to.AsSlice())
		frame = append(append(frame, header...), chain...)
	}
	return append(append(frame, transport...), make([]byte, s.padding)...)
}

// pseudo returns the header that TCP's checksum covers besides the segment.
func (s packetSpec) pseudo(length int) []byte {
	p := append(s.from.AsSlice(), s.to.AsSlice()...)
	p = binary.BigEndian.AppendUint32(p, uint32(length))
	return append(p, 0, 0, 0, s.protocol)
}

// sum16 returns the one's complement sum of the parts, each of whole words but the last.
func sum16(parts ...[]byte) uint16 {
	sum := uint64(0)
	for _, p := range parts {
		for i, b := range p {
			if i%2 == 0 {
				sum += uint64(b) << 8
			} else {
				sum += uint64(b)
			}
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

var (
	four    = [2]netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.168.7.9")}
	six     = [2]netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:5::2")}
	voiceV4 = packetSpec{from: four[0], to: four[1], dscp: 46, protocol: 17, source: 16384, destiny: 5004, payload: 160}
	voiceV6 = packetSpec{from: six[0], to: six[1], dscp: 46, protocol: 17, source: 16384, destiny: 5004, payload: 160}
)
