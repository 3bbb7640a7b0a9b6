package strategy

import (
	"fmt"
	"math"
)

// The sum of one element is a multiple of 2^grid in 64 bits, which is exact.
// Bits that do not fit, below the grid or above 64 bits, go to layers, which
// only blocks that need them have. Since no bit is lost, the sum does not
// depend on the order of its terms, and a term can be subtracted again.

const (
	blockLen = 512 // elements that share a grid
	// headroom is how many bits of the 62 in use the first term of a block leaves
	// free: 2^12 terms like it fit before higher layers are needed.
	headroom  = 12
	fullLoad  = 1 << 62
	carryBits = 32 // bits that stay in the block when it overflows into layers
	// leastTerm is 2^-147. A term below it counts as zero, so that the lowest bit of
	// every other is at least 2^lowestGrid.
	leastTerm  = 0x1p-147
	lowestUnit = -146 // of a block: terms that count as zero round to zero there
	// endOfTerms is 2^128, where 32-bit numbers end.
	endOfTerms = 0x1p128
)

// block is the sum of up to blockLen elements. The zero value is zero.
type block struct {
	load   uint64  // bound of the absolute value of every sum, in units of the grid
	layers *layers // nil where nothing overflowed
	grid   int32   // exponent of the unit
}

// spike is the error of a number that cannot be summed.
type spike struct {
	at    int
	value float64
}

func (s *spike) Error() string { return fmt.Sprintf("element %d is %v", s.at, s.value) }

// add32 adds factor times x to the sums. It changes nothing where a number is
// not finite, and returns which.
func (b *block) add32(k kernel, sums []int64, x []float32, factor float64) *spike {
	top := k.greatest(x)
	if top >= 0x7f800000 {
		for i, v := range x {
			if math.Float32bits(v)&0x7fffffff >= 0x7f800000 {
				return &spike{i, float64(v)}
			}
		}
	}
	if top == 0 {
		return nil
	}
	if !b.admit(sums, math.Abs(factor)*float64(math.Float32frombits(top))) {
		for i, v := range x {
			b.spill(i, factor*float64(v))
		}
		return nil
	}
	scale := factor * power(-b.grid)
	if k.deposit(sums, x, scale) {
		for i, v := range x {
			b.leave(i, float64(v)*scale)
		}
	}
	return nil
}

// add64 is add32 for 64-bit numbers, which must be below 2^128.
func (b *block) add64(sums []int64, x []float64, factor float64) *spike {
	top := 0.0
	for i, v := range x {
		a := math.Abs(v)
		if !(a < endOfTerms) {
			return &spike{i, v}
		}
		top = max(top, a)
	}
	if top == 0 {
		return nil
	}
	if !b.admit(sums, math.Abs(factor)*top) {
		for i, v := range x {
			b.spill(i, factor*v)
		}
		return nil
	}
	scale := factor * power(-b.grid)
	for i, v := range x {
		sums[i] += int64(math.RoundToEven(v * scale))
		b.leave(i, v*scale)
	}
	return nil
}

// leave adds the fractional part of a term to the layers.
func (b *block) leave(i int, units float64) {
	rest := units - math.RoundToEven(units)
	if unit := power(b.grid); rest != 0 && math.Abs(units*unit) >= leastTerm {
		b.widen().add(i, rest*unit)
	}
}

// spill adds a whole term to the layers.
func (b *block) spill(i int, term float64) {
	if math.Abs(term) >= leastTerm {
		b.widen().add(i, term)
	}
}

// empty reports whether the sums were not added to: they are then zero, whatever their
// memory has.
func (b *block) empty() bool { return b.load == 0 }

// admit makes room for terms of at most bound. It returns false if they are too
// large for the grid of the block.
func (b *block) admit(sums []int64, bound float64) bool {
	if b.empty() && b.layers == nil {
		_, exponent := math.Frexp(bound)
		b.grid = max(int32(exponent)-62+headroom, lowestUnit)
	}
	units := bound * power(-b.grid)
	if units >= fullLoad/4 {
		return false
	}
	b.reserve(sums, uint64(units)+2)
	return true
}

// reserve makes room for terms of at most so many units of the grid, which are no more
// than fullLoad/4.
func (b *block) reserve(sums []int64, more uint64) {
	if b.empty() {
		clear(sums) // before they are read: fresh memory is mapped once then
	}
	if b.load+more > fullLoad {
		wide := b.widen()
		for i, v := range sums {
			high := v >> carryBits
			sums[i] -= high << carryBits
			wide.addInt(i, high, b.grid+carryBits)
		}
		b.load = 1 << carryBits
	}
	b.load += more
}

func (b *block) widen() *layers {
	if b.layers == nil {
		b.layers = &layers{}
	}
	return b.layers
}

// read puts the sums, each rounded once to the nearest number of 64 bits, into
// dst, from an element of the block on.
func (b *block) read(dst []float64, sums []int64, from int) {
	unit := power(b.grid)
	switch {
	case b.empty() && b.layers == nil:
		clear(dst)
	case b.empty():
		for i := range dst {
			dst[i] = b.layers.total(from+i, 0, b.grid)
		}
	case b.layers == nil:
		for i := range dst {
			dst[i] = float64(sums[from+i]) * unit
		}
	default:
		for i := range dst {
			dst[i] = b.layers.total(from+i, sums[from+i], b.grid)
		}
	}
}

// power returns 2 to the power of an integer between -1022 and 1023.
func power(exponent int32) float64 {
	return math.Float64frombits(uint64(exponent+1023) << 52)
}
