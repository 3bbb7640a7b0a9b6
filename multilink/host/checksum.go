package host

import (
	"encoding/binary"
	"math/bits"
)

// sum adds b to a sum of 16-bit words in ones' complement (RFC 1071), eight
// bytes at a time with the carry fed back: the result is congruent to the one
// of single words. An odd last byte counts as if a zero followed.
func sum(b []byte, acc uint64) uint64 {
	var carry uint64
	for len(b) >= 32 {
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b), 0)
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b[8:]), carry)
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b[16:]), carry)
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b[24:]), carry)
		acc, carry = bits.Add64(acc, 0, carry)
		acc += carry
		b = b[32:]
	}
	for len(b) >= 8 {
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b), 0)
		acc, carry = bits.Add64(acc, 0, carry)
		acc += carry
		b = b[8:]
	}
	var rest uint64
	if len(b) >= 4 {
		rest += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		rest += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		rest += uint64(b[0]) << 8
	}
	acc, carry = bits.Add64(acc, rest, 0)
	return acc + carry
}

// fold brings a sum down to 16 bits.
func fold(acc uint64) uint16 {
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	return uint16(acc)
}

// pseudo is the sum of the pseudo-header of TCP and UDP (RFC 9293 section 3.1,
// RFC 8200 section 8.1): addresses are those of the packet, one after the
// other, and length is that of the header and payload.
func pseudo(addresses []byte, protocol byte, length int) uint64 {
	return sum(addresses, uint64(protocol)+uint64(length))
}
