package host

import (
	"encoding/binary"
)

// packet describes a TCP or UDP frame for tests.
type packet struct {
	vlan    []uint16 // tags, outer first
	v6      bool
	udp     bool
	from    byte // part of the source address and port
	id      uint16
	df      bool
	ttl     byte
	tos     byte
	seq     uint32
	ack     uint32
	flags   byte
	window  uint16
	options []byte // a multiple of four
	payload []byte
}

// frame builds the frame with complete checksums.
func (p packet) frame() []byte {
	frame := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, p.from}
	for i, tag := range p.vlan {
		kind := uint16(typeVLAN)
		if i < len(p.vlan)-1 {
			kind = typeQinQ
		}
		frame = binary.BigEndian.AppendUint16(frame, kind)
		frame = binary.BigEndian.AppendUint16(frame, tag)
	}
	var transport []byte
	protocol := byte(protocolTCP)
	if p.udp {
		protocol = protocolUDP
		transport = append(transport, 0x10, p.from, 0, 53)
		transport = binary.BigEndian.AppendUint16(transport, uint16(udpSize+len(p.payload)))
		transport = append(transport, 0, 0)
	} else {
		transport = append(transport, 0x10, p.from, 0, 80)
		transport = binary.BigEndian.AppendUint32(transport, p.seq)
		transport = binary.BigEndian.AppendUint32(transport, p.ack)
		transport = append(transport, byte(tcpSize+len(p.options))/4<<4, p.flags)
		transport = binary.BigEndian.AppendUint16(transport, p.window)
		transport = append(transport, 0, 0, 0, 0)
		transport = append(transport, p.options...)
	}
	transport = append(transport, p.payload...)
	var ip []byte
	if p.v6 {
		frame = binary.BigEndian.AppendUint16(frame, typeIPv6)
		ip = []byte{0x60 | p.tos>>4, p.tos << 4, 0, 0}
		ip = binary.BigEndian.AppendUint16(ip, uint16(len(transport)))
		ip = append(ip, protocol, p.ttl)
		ip = append(ip, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, p.from)
		ip = append(ip, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2)
	} else {
		frame = binary.BigEndian.AppendUint16(frame, typeIPv4)
		ip = []byte{0x45, p.tos}
		ip = binary.BigEndian.AppendUint16(ip, uint16(ipv4Size+len(transport)))
		ip = binary.BigEndian.AppendUint16(ip, p.id)
		if p.df {
			ip = append(ip, 0x40, 0)
		} else {
			ip = append(ip, 0, 0)
		}
		ip = append(ip, p.ttl, protocol, 0, 0, 10, 0, 1, p.from, 10, 0, 2, 2)
		binary.BigEndian.PutUint16(ip[10:], ^slowSum(ip))
	}
	field := tcpChecksum
	if p.udp {
		field = udpChecksum
	}
	binary.BigEndian.PutUint16(transport[field:], ^slowSum(slowPseudo(ip, protocol, len(transport)), transport))
	return append(append(frame, ip...), transport...)
}

// super builds the frame as the kernel gives it: the checksum is that of the
// pseudo-header, and a header says what size to cut it to.
func (p packet) super(size int) (vnetHeader, []byte) {
	frame := p.frame()
	network := etherSize + vlanSize*len(p.vlan)
	h := vnetHeader{flags: needsChecksum, gso: gsoTCPv4, size: uint16(size), checksumOffset: tcpChecksum}
	transport := network + ipv4Size
	protocol := byte(protocolTCP)
	if p.v6 {
		transport, h.gso = network+ipv6Size, gsoTCPv6
	}
	if p.udp {
		h.gso = gsoUDP
		h.checksumOffset = udpChecksum
		protocol = protocolUDP
	}
	h.checksumStart = uint16(transport)
	h.headers = uint16(len(frame)) // useless, as the kernel's
	partial := slowSum(slowPseudo(frame[network:transport], protocol, len(frame)-transport))
	binary.BigEndian.PutUint16(frame[transport+int(h.checksumOffset):], partial)
	return h, frame
}

// slowSum returns the sum of RFC 1071 by its definition.
func slowSum(parts ...[]byte) uint16 {
	var total uint32
	for _, b := range parts {
		for i := 0; i < len(b); i += 2 {
			word := uint32(b[i]) << 8
			if i+1 < len(b) {
				word |= uint32(b[i+1])
			}
			if total += word; total > 0xffff {
				total -= 0xffff
			}
		}
	}
	return uint16(total)
}

// slowPseudo returns the pseudo-header of an IP header without extensions.
func slowPseudo(ip []byte, protocol byte, length int) []byte {
	if ip[0]>>4 == 6 {
		return append(append([]byte(nil), ip[8:40]...), 0, 0, byte(length>>8), byte(length), 0, 0, 0, protocol)
	}
	return append(append([]byte(nil), ip[12:20]...), 0, protocol, byte(length>>8), byte(length))
}

// wrong returns which checksum or length of a TCP or UDP frame is not right.
func wrong(frame []byte) string {
	network := etherSize
	for binary.BigEndian.Uint16(frame[network-2:]) == typeVLAN || binary.BigEndian.Uint16(frame[network-2:]) == typeQinQ {
		network += vlanSize
	}
	ip := frame[network:]
	header, protocol := ipv6Size, ip[6]
	if ip[0]>>4 == 4 {
		header, protocol = int(ip[0]&15)*4, ip[9]
		if slowSum(ip[:header]) != 0xffff {
			return "checksum of IPv4"
		}
		if int(binary.BigEndian.Uint16(ip[2:])) != len(ip) {
			return "length of IPv4"
		}
	} else if int(binary.BigEndian.Uint16(ip[4:])) != len(ip)-header {
		return "length of IPv6"
	}
	if protocol == protocolUDP && int(binary.BigEndian.Uint16(ip[header+4:])) != len(ip)-header {
		return "length of UDP"
	}
	if slowSum(slowPseudo(ip, protocol, len(ip)-header), ip[header:]) != 0xffff {
		return "checksum of the transport"
	}
	return ""
}
