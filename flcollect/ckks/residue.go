package ckks

import (
	"encoding/binary"
	"math/bits"
)

// factor is a number to multiply residues with (Shoup's method: the quotient
// of the product is estimated with one multiplication by a precomputed
// fraction). The modulus has 60 bits at most.
type factor struct {
	modulus, value, fraction uint64
}

func newFactor(modulus, value uint64) factor {
	value %= modulus
	fraction, _ := bits.Div64(value, 0, modulus)
	return factor{modulus, value, fraction}
}

// negative returns the factor that subtracts what this one adds.
func (f factor) negative() factor {
	return newFactor(f.modulus, (f.modulus-f.value)%f.modulus)
}

// times returns the factor times a number, as a residue.
func (f factor) times(c uint64) uint64 {
	estimate, _ := bits.Mul64(f.fraction, c)
	product := f.value*c - estimate*f.modulus // below twice the modulus
	return min(product, product-f.modulus)
}

// addTo adds the factor times every residue of src to that of sum, both little
// endian words of 64 bits. It returns false if src has a number that is not a residue,
// which is added nevertheless, as the residue that it stands for.
func (f factor) addTo(sum, src []byte) bool {
	q, w, fraction := f.modulus, f.value, f.fraction
	var wrong uint64
	for len(src) >= 8 && len(sum) >= 8 {
		c := binary.LittleEndian.Uint64(src)
		wrong |= c | (q - 1 - c) // the top bit is set if c is 2^63 or more, or else q or more
		estimate, _ := bits.Mul64(fraction, c)
		product := w*c - estimate*q // below 2q
		product = min(product, product-q)
		total := binary.LittleEndian.Uint64(sum) + product // below 2q
		binary.LittleEndian.PutUint64(sum, min(total, total-q))
		src, sum = src[8:], sum[8:]
	}
	return wrong>>63 == 0
}
