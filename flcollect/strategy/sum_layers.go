package strategy

import (
	"math"
	"math/bits"
)

const (
	layerBits  = 44
	layerMask  = 1<<layerBits - 1
	layerCount = 10
	lowestGrid = -200
	// layerTerms is how many terms the 64 bits of a layer hold before the
	// carries must be moved on. Terms are below 2^128 and factors below 2^62, so
	// that 2^31 of them stay below 2^221, inside the last layer, which ends at 2^240.
	layerTerms = 1 << (63 - layerBits - 2)
)

// layers hold the bits that do not fit a block: layer k counts units of
// 2^(lowestGrid+44k). A layer exists from the first addition to it. The zero
// value is zero.
type layers struct {
	sums  [layerCount]*[blockLen]int64
	terms int // additions since the last carry
}

// add adds a number whose lowest bit is at least 2^lowestGrid.
func (l *layers) add(i int, v float64) {
	b := math.Float64bits(v)
	mantissa, exponent := b&(1<<52-1)|1<<52, int32(b>>52&0x7ff)-1075
	if below := lowestGrid - exponent; below > 0 { // those bits are zero
		mantissa, exponent = mantissa>>below, lowestGrid
	}
	l.addBits(i, mantissa, exponent, b>>63 != 0)
}

// addInt adds v units of 2^grid.
func (l *layers) addInt(i int, v int64, grid int32) {
	magnitude := uint64(v)
	if v < 0 {
		magnitude = -magnitude
	}
	l.addBits(i, magnitude, grid, v < 0)
}

func (l *layers) addBits(i int, magnitude uint64, exponent int32, negative bool) {
	if l.terms++; l.terms >= layerTerms {
		l.carry()
		l.terms = 1
	}
	k, parts := spread(magnitude, exponent)
	for n, part := range parts {
		if part == 0 {
			continue
		}
		if l.sums[k+n] == nil {
			l.sums[k+n] = new([blockLen]int64)
		}
		if negative {
			part = -part
		}
		l.sums[k+n][i] += part
	}
}

// spread divides magnitude units of 2^exponent among layers, from the one it returns on.
func spread(magnitude uint64, exponent int32) (first int, parts [3]int64) {
	at := exponent - lowestGrid
	low, high := magnitude<<(at%layerBits), magnitude>>(64-at%layerBits)
	return int(at / layerBits), [3]int64{
		int64(low & layerMask),
		int64((low>>layerBits | high<<(64-layerBits)) & layerMask),
		int64(high >> (2*layerBits - 64)),
	}
}

// carry moves the excess of each layer to the next.
func (l *layers) carry() {
	for k := range layerCount - 1 {
		if l.sums[k] == nil {
			continue
		}
		for i, v := range l.sums[k] {
			over := v >> layerBits
			if over == 0 {
				continue
			}
			if l.sums[k+1] == nil {
				l.sums[k+1] = new([blockLen]int64)
			}
			l.sums[k][i] = v & layerMask
			l.sums[k+1][i] += over
		}
	}
}

// digits returns the sum of an element and v units of 2^grid, digit k in units of
// 2^(lowestGrid+44k).
func (l *layers) digits(i int, v int64, grid int32) (digits [layerCount + 2]int64) {
	for k, sums := range l.sums {
		if sums != nil {
			digits[k] = sums[i]
		}
	}
	magnitude := uint64(v)
	if v < 0 {
		magnitude = -magnitude
	}
	first, parts := spread(magnitude, grid)
	for n, part := range parts {
		if v < 0 {
			part = -part
		}
		digits[first+n] += part
	}
	return digits
}

// total returns the sum of an element and v units of 2^grid, rounded once.
func (l *layers) total(i int, v int64, grid int32) float64 {
	digits := l.digits(i, v, grid)
	sign := 1.0
	if normalise(&digits); digits[len(digits)-1] < 0 {
		sign = -1
		for k := range digits {
			digits[k] = -digits[k]
		}
		normalise(&digits)
	}
	return sign * rounded(&digits)
}

// normalise brings every digit but the last into the range from 0 to below
// 2^layerBits.
func normalise(digits *[layerCount + 2]int64) {
	for k := range len(digits) - 1 {
		digits[k+1] += digits[k] >> layerBits
		digits[k] &= layerMask
	}
}

// rounded returns the nearest number of 64 bits, to even in the middle.
func rounded(digits *[layerCount + 2]int64) float64 {
	top := len(digits) - 1
	for top > 0 && digits[top] == 0 {
		top--
	}
	digit := func(k int) uint64 {
		if k < 0 {
			return 0
		}
		return uint64(digits[k])
	}
	if digit(top) == 0 {
		return 0
	}
	// The three highest digits, 132 bits, without the last 4.
	high := digit(top)<<20 | digit(top-1)>>24
	low := digit(top-1)<<40 | digit(top-2)>>4
	inexact := digit(top-2)&15 != 0
	for k := top - 3; k >= 0; k-- {
		inexact = inexact || digits[k] != 0
	}
	shift := bits.LeadingZeros64(high)
	high = high<<shift | low>>(64-shift)
	inexact = inexact || low<<shift != 0
	mantissa, rest := high>>11, high&0x7ff
	if rest > 0x400 || rest == 0x400 && (inexact || mantissa&1 == 1) {
		mantissa++
	}
	// The unit of digit(top) is 2^(lowestGrid+44 top); that of high before the
	// shift lies 20 bits lower.
	return math.Ldexp(float64(mantissa), lowestGrid+layerBits*top-20-shift+11)
}
