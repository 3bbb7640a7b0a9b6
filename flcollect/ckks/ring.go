package ckks

import (
	"math"
	"math/bits"
)

// ring converts numbers to the form in which SEAL stores them in ciphertexts:
// numbers in slots to coefficients of a polynomial, and those to its values modulo
// the primes. It is immutable.
type ring struct {
	degree int
	turns  []complex128 // exp(-iπk/degree) at k
	roots  [][]factor   // of every modulus: the powers of its root, bit-reversed
}

func newRing(degree int, moduli []uint64) *ring {
	r := &ring{degree: degree, turns: make([]complex128, degree), roots: make([][]factor, len(moduli))}
	for k := range r.turns {
		sin, cos := math.Sincos(-math.Pi * float64(k) / float64(degree))
		r.turns[k] = complex(cos, sin)
	}
	for k, q := range moduli {
		root, power := leastRoot(q, uint64(degree)), uint64(1)
		r.roots[k] = make([]factor, degree)
		for i := range degree {
			r.roots[k][r.reverse(i)] = newFactor(q, power)
			power = multiply(power, root, q)
		}
	}
	return r
}

// reverse returns the bits of an index below the degree in reverse.
func (r *ring) reverse(i int) int {
	return int(bits.Reverse64(uint64(i)) >> (64 - bits.TrailingZeros(uint(r.degree))))
}

// interpolate puts into dst the coefficients of the polynomial whose slots hold
// the values, again and again from the first to the last. Slot j is the
// polynomial's value at exp(iπ3^j/degree). work has room for a number a coefficient.
func (r *ring) interpolate(dst, values []float64, work []complex128) {
	// The values at all odd powers of exp(iπ/degree), of which half are those of the
	// slots and the others their conjugates, are a Fourier transform of the
	// coefficients, each turned by its own angle.
	power, end := 1, 2*r.degree
	for j := range r.degree / 2 {
		value := complex(values[j%len(values)], 0)
		work[r.reverse((power-1)/2)] = value
		work[r.reverse((end-power-1)/2)] = value
		power = power * 3 % end
	}
	for size := 2; size <= r.degree; size *= 2 {
		half, stride := size/2, end/size
		for from := 0; from < r.degree; from += size {
			low, high := work[from:from+half], work[from+half:from+size]
			for k := range low {
				x, y := low[k], high[k]*r.turns[k*stride]
				low[k], high[k] = x+y, x-y
			}
		}
	}
	for k := range dst {
		dst[k] = real(work[k]*r.turns[k]) / float64(r.degree)
	}
}

// evaluate replaces coefficients of a polynomial, residues of a modulus, by its
// values, in the order of SEAL's number-theoretic transform: at the odd powers of the
// least primitive root, bit-reversed (Longa and Naehrig 2016, ePrint 2016/504).
func (r *ring) evaluate(residues []uint64, modulus int) {
	roots := r.roots[modulus]
	q := roots[0].modulus
	for parts, half := 1, r.degree/2; half > 0; parts, half = 2*parts, half/2 {
		for i := range parts {
			root := roots[parts+i]
			low := residues[2*i*half : 2*i*half+half]
			high := residues[2*i*half+half : 2*i*half+2*half]
			for k := range low {
				x, y := low[k], root.times(high[k])
				low[k], high[k] = min(x+y, x+y-q), min(x-y, x-y+q)
			}
		}
	}
}

// leastRoot returns the least primitive root of unity of twice a degree, modulo
// a prime for which there is one.
func leastRoot(q, degree uint64) uint64 {
	root := uint64(0)
	for base := uint64(2); ; base++ {
		if root = power(base, (q-1)/(2*degree), q); power(root, degree, q) == q-1 {
			break
		}
	}
	least, square := root, multiply(root, root, q)
	for range degree - 1 {
		root = multiply(root, square, q)
		least = min(least, root)
	}
	return least
}

// multiply returns the product of two residues.
func multiply(x, y, q uint64) uint64 {
	high, low := bits.Mul64(x, y)
	_, rest := bits.Div64(high, low, q)
	return rest
}

// power returns a power of a residue.
func power(base, exponent, q uint64) uint64 {
	result := uint64(1)
	for base %= q; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result = multiply(result, base, q)
		}
		base = multiply(base, base, q)
	}
	return result
}

// residue returns the residue of an integer.
func residue(whole float64, q uint64) uint64 {
	size, shift := math.Abs(whole), 0
	if size >= 1<<53 {
		size, shift = math.Frexp(size)
		size, shift = math.Ldexp(size, 53), shift-53
	}
	rest := uint64(size) % q
	if shift > 0 {
		rest = multiply(rest, power(2, uint64(shift), q), q)
	}
	if whole < 0 && rest > 0 {
		return q - rest
	}
	return rest
}
