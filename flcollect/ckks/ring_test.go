package ckks_test

import (
	"encoding/binary"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// ring is the polynomial ring of the captured fixtures, computed from its
// definition, without fast transforms. It has the first modulus only, of 27 bits.
type ring struct {
	degree int
	prime  uint64
	powers []uint64  // of the least primitive root of unity of twice the degree
	cosine []float64 // of πk/degree at k
}

func newRing(degree int, prime uint64) *ring {
	r := &ring{degree: degree, prime: prime}
	root := uint64(2)
	for r.power(root, uint64(degree)) != prime-1 {
		root++
	}
	power := uint64(1)
	for k := range 2 * degree {
		r.powers = append(r.powers, power)
		r.cosine = append(r.cosine, math.Cos(math.Pi*float64(k)/float64(degree)))
		power = power * root % prime
	}
	return r
}

func (r *ring) power(base, exponent uint64) uint64 {
	result := uint64(1)
	for ; exponent > 0; exponent /= 2 {
		if exponent%2 == 1 {
			result = result * base % r.prime
		}
		base = base * base % r.prime
	}
	return result
}

// polynomial returns the centred coefficients of the polynomial whose values are
// given in SEAL's order: at odd powers of the root, bit-reversed.
//
//go:norace
func (r *ring) polynomial(values []uint64) []float64 {
	inverse := r.prime - (r.prime-1)/uint64(r.degree) // of the degree
	coefficients := make([]float64, r.degree)
	shift := 64 - bits.TrailingZeros(uint(r.degree))
	for k := range coefficients {
		sum := uint64(0)
		for i, v := range values {
			odd := 2*int(bits.Reverse64(uint64(i))>>shift) + 1
			sum += v * r.powers[(2*r.degree-odd*k%(2*r.degree))%(2*r.degree)] % r.prime
		}
		if c := sum % r.prime * inverse % r.prime; c > r.prime/2 {
			coefficients[k] = -float64(r.prime - c)
		} else {
			coefficients[k] = float64(c)
		}
	}
	return coefficients
}

// decrypt returns the values of the polynomial that a ciphertext holds.
func (r *ring) decrypt(residues, key []uint64) []uint64 {
	values := make([]uint64, r.degree)
	for k := range values {
		values[k] = (residues[k] + residues[r.degree+k]*key[k]) % r.prime
	}
	return values
}

// slots returns what the first slots of a polynomial hold, times the scale, and
// the imaginary parts.
//
//go:norace
func (r *ring) slots(coefficients []float64, count int) (whole, imaginary []float64) {
	power := 1
	for range count {
		x, y := 0.0, 0.0
		for k, c := range coefficients {
			at := power * k % (2 * r.degree)
			x += c * r.cosine[at]
			y += c * r.cosine[(at+3*r.degree/2)%(2*r.degree)]
		}
		whole, imaginary = append(whole, x), append(imaginary, y)
		power = power * 3 % (2 * r.degree)
	}
	return whole, imaginary
}

// secretKey returns the values of the captured key, modulo the first modulus.
func secretKey(t *testing.T, degree int) []uint64 {
	t.Helper()
	message := read(t, "tenseal", "secret")
	for _, field := range []protowire.Number{3, 1} { // the private part, the key
		for len(message) > 0 {
			number, _, n := protowire.ConsumeField(message)
			require.Positive(t, n)
			if number == field {
				_, _, start := protowire.ConsumeTag(message)
				message, _ = protowire.ConsumeBytes(message[start:])
				break
			}
			message = message[n:]
		}
		require.NotEmpty(t, message)
	}
	text := content(t, message)
	text = text[len(text)-2*8*degree:] // of both moduli
	key := make([]uint64, degree)
	for k := range key {
		key[k] = binary.LittleEndian.Uint64(text[8*k:])
	}
	return key
}
