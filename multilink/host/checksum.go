package host

import (
	"encoding/binary"
	"math/bits"
)

// sum adds b to a sum of 16-bit words in ones' complement (RFC 1071). An odd
// last byte counts as if a zero followed.
//
// It takes eight bytes at a time, feeds the carry back, and takes them with
// their order reversed: section 2 (B) of the RFC shows that the sum's own bytes
// are then reversed, and nothing else.
func sum(b []byte, acc uint64) uint64 {
	var words, carry uint64
	for len(b) >= 64 {
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[8:]), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[16:]), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[24:]), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[32:]), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[40:]), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[48:]), carry)
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b[56:]), carry)
		b = b[64:]
	}
	for len(b) >= 8 {
		words, carry = bits.Add64(words, binary.LittleEndian.Uint64(b), carry)
		b = b[8:]
	}
	var rest uint64
	for i, c := range b {
		rest |= uint64(c) << (8 * i)
	}
	words, carry = bits.Add64(words, rest, carry)
	words, carry = bits.Add64(words, 0, carry)
	acc, carry = bits.Add64(acc, uint64(bits.ReverseBytes16(fold(words+carry))), 0)
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

// pseudo returns the sum of the pseudo-header of TCP and UDP (RFC 9293 section 3.1,
// RFC 8200 section 8.1): addresses are those of the packet, one after the
// other, and length is that of the header and payload.
func pseudo(addresses []byte, protocol byte, length int) uint64 {
	return sum(addresses, uint64(protocol)+uint64(length))
}
