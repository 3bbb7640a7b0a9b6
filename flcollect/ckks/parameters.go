package ckks

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strings"
	"sync"

	"golang.org/x/crypto/blake2b"
)

// maxExamples bounds the examples of a round, so that the scale of the result is
// exact: 2^53.
const maxExamples = 1 << 53

// parmsID names the parameters and the level of a ciphertext, as SEAL does.
type parmsID [32]byte

// Parameters are valid encryption parameters. They are immutable and safe for
// concurrent use. Make them with [NewParameters].
type Parameters struct {
	settings Settings
	moduli   []uint64 // that of the keys last
	data     []uint64 // those of fresh ciphertexts
	id       parmsID  // of fresh ciphertexts
	scale    float64
	product  *big.Int // of data
	ring     func() *ring
}

// NewParameters checks the settings, with defaults filled in, and derives the moduli.
// The error is a *[FieldError]: for another scheme than CKKS, moduli that do not
// exist, fewer than 128 bits of security, or a scale that leaves no room.
func NewParameters(settings Settings) (*Parameters, error) {
	s := settings.withDefaults()
	if !strings.EqualFold(s.Scheme, "CKKS") {
		return nil, fail("scheme", "%q is not supported, only CKKS is", s.Scheme)
	}
	s.Scheme = "CKKS"
	bound, ok := security(s.PolyModulusDegree)
	if !ok {
		return nil, fail("poly_modulus_degree", "%d is not a power of two from 1024 to 32768", s.PolyModulusDegree)
	}
	sum := 0
	for _, size := range s.CoeffModBitSizes {
		if size < 2 || size > 60 {
			return nil, fail("coeff_mod_bit_sizes", "%d is not from 2 to 60", size)
		}
		if sum += size; sum > bound {
			return nil, fail("coeff_mod_bit_sizes",
				"%v is more than the %d bits with which degree %d gives 128 bits of security",
				s.CoeffModBitSizes, bound, s.PolyModulusDegree)
		}
	}
	primes, err := moduli(s.PolyModulusDegree, s.CoeffModBitSizes)
	if err != nil {
		return nil, fail("coeff_mod_bit_sizes", "%v", err)
	}
	p := &Parameters{settings: s, moduli: primes, data: dataModuli(primes), product: big.NewInt(1)}
	for _, q := range p.data {
		p.product.Mul(p.product, new(big.Int).SetUint64(q))
	}
	p.id = identify(s.PolyModulusDegree, p.data)
	// SEAL requires the scale to be below the product of the moduli; a mean of
	// even one client needs a bit for the sign and one for the number.
	if s.ScaleBits < 1 || s.ScaleBits > p.product.BitLen()-2 {
		return nil, fail("scale_bits", "%d is not from 1 to %d, which the moduli of fresh ciphertexts leave",
			s.ScaleBits, p.product.BitLen()-2)
	}
	p.scale = math.Ldexp(1, s.ScaleBits)
	p.ring = sync.OnceValue(func() *ring { return newRing(s.PolyModulusDegree, p.data) })
	return p, nil
}

// dataModuli returns the moduli of fresh ciphertexts: all but that of the keys.
func dataModuli(moduli []uint64) []uint64 {
	if len(moduli) == 1 {
		return moduli
	}
	return moduli[:len(moduli)-1]
}

// identify returns SEAL's name for the parameters of a level: a hash of the
// scheme's number (2 is CKKS), the degree, the moduli, and a plain modulus of 0.
func identify(degree int, moduli []uint64) parmsID {
	text := binary.LittleEndian.AppendUint64(nil, 2)
	text = binary.LittleEndian.AppendUint64(text, uint64(degree))
	for _, q := range moduli {
		text = binary.LittleEndian.AppendUint64(text, q)
	}
	text = binary.LittleEndian.AppendUint64(text, 0)
	return blake2b.Sum256(text)
}

// Settings returns the settings, with the defaults filled in.
func (p *Parameters) Settings() Settings { return p.settings.withDefaults() }

// Slots returns how many numbers a ciphertext holds at most, half the degree.
func (p *Parameters) Slots() int { return p.settings.PolyModulusDegree / 2 }

// String returns the parameters as in "degree 8192, moduli of [60 40 40] bits,
// scale 2^40".
func (p *Parameters) String() string {
	return p.settings.String()
}

// Room returns the greatest sum of examples with which a mean of numbers whose
// absolute value is at most maxAbs does not wrap around: half the product of the
// moduli, divided by the scale and by maxAbs. It is at most 2^53, and 0 if there is no
// room, or if maxAbs is not a positive finite number.
func (p *Parameters) Room(maxAbs float64) int64 {
	if !(maxAbs > 0) || math.IsInf(maxAbs, 1) {
		return 0
	}
	each := new(big.Float).SetFloat64(maxAbs)
	each.SetMantExp(each, p.settings.ScaleBits+1)
	least, accuracy := each.Int(nil)
	if accuracy == big.Below {
		least.Add(least, big.NewInt(1))
	}
	room := least.Quo(p.product, least)
	if room.Cmp(big.NewInt(maxExamples)) >= 0 {
		return maxExamples
	}
	return room.Int64()
}

// reach returns the absolute value from which on a sum wraps around: half the
// product of the moduli, divided by the scale.
func (p *Parameters) reach() float64 {
	reach, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(p.product), -p.settings.ScaleBits-1).Float64()
	return reach
}

// bodySize is the bytes of a ciphertext's coefficients: two polynomials with an
// integer of 64 bits for each modulus and coefficient.
func (p *Parameters) bodySize() int { return 2 * len(p.data) * p.settings.PolyModulusDegree * 8 }

// leastSize is less than any encryption can be compressed to: half of the
// information in it, for its coefficients look like uniformly drawn residues.
func (p *Parameters) leastSize() int {
	sum := 0
	for _, q := range p.data {
		sum += bits.Len64(q)
	}
	return 2 * p.settings.PolyModulusDegree * sum / 8 / 2
}
