package secagg

import "encoding/binary"

// blockSize is the length of an encoded element, in bytes.
const blockSize = 16

// element is an element of GF(2^128) modulo x^128 + x^7 + x^2 + x + 1, the
// field of PyCryptodome's secret sharing. The lowest bit of lo is the constant
// coefficient. Its arithmetic has no branches that depend on values.
type element struct{ hi, lo uint64 }

// decodeElement reads an element with the high byte first.
func decodeElement(b []byte) element {
	return element{hi: binary.BigEndian.Uint64(b), lo: binary.BigEndian.Uint64(b[8:])}
}

// append adds the encoded element to b.
func (e element) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, e.hi), e.lo)
}

// plus is addition, and subtraction as well.
func (e element) plus(other element) element {
	return element{hi: e.hi ^ other.hi, lo: e.lo ^ other.lo}
}

func (e element) times(other element) element {
	var product element
	high, low := e.hi, e.lo // times x for each bit of the other
	for _, word := range [2]uint64{other.lo, other.hi} {
		for range 64 {
			chosen := -(word & 1)
			product.hi ^= high & chosen
			product.lo ^= low & chosen
			word >>= 1
			overflow := -(high >> 63)
			high = high<<1 | low>>63
			low = low<<1 ^ overflow&0x87
		}
	}
	return product
}

// inverse returns the element to the power 2^128-2, which is 0 for 0.
func (e element) inverse() element {
	result, power := element{lo: 1}, e
	for range 127 {
		power = power.times(power)
		result = result.times(power)
	}
	return result
}
