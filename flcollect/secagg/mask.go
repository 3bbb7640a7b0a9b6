package secagg

import (
	"encoding/binary"
	"fmt"
)

// word is the type of the sums: 32 bits hold all moduli up to 2^32.
type word interface{ ~uint32 | ~uint64 }

// mask is the sequence of a mask's numbers, as Flower's clients draw them: numpy's
// RandomState.randint(0, modulus-1) with 64-bit numbers, so each is below
// modulus-1. Its sequence is the same for every version of numpy (NEP 19).
type mask[W word] struct {
	generator mersenne
	low       W // the bits of numbers below the modulus; as a number it is drawn anew
}

// newMask begins the mask of a seed, which has a multiple of four bytes. Flower's
// clients reduce it to 32 bits, the exclusive or of its words.
func newMask[W word](seed []byte, modulus uint64) (*mask[W], error) {
	if len(seed) == 0 || len(seed)%4 != 0 {
		return nil, fmt.Errorf("the seed of a mask has %d bytes; it needs a multiple of 4", len(seed))
	}
	var reduced uint32
	for ; len(seed) > 0; seed = seed[4:] {
		reduced ^= binary.LittleEndian.Uint32(seed)
	}
	m := &mask[W]{low: W(modulus - 1)}
	m.generator.seed(reduced)
	return m, nil
}

// read puts the next numbers of the mask into dst.
func (m *mask[W]) read(dst []W) {
	switch {
	case m.low == 1: // modulus 2: nothing is drawn
		clear(dst)
	case uint64(m.low) < 1<<32:
		for i := range dst {
			n := W(m.generator.uint32()) & m.low
			for n == m.low {
				n = W(m.generator.uint32()) & m.low
			}
			dst[i] = n
		}
	default:
		for i := range dst {
			n := W(m.generator.uint64()) & m.low
			for n == m.low {
				n = W(m.generator.uint64()) & m.low
			}
			dst[i] = n
		}
	}
}
