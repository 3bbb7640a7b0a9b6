package strategy

import "math"

// kernel is the inner loop of a sum.
type kernel struct {
	// greatest returns the bits of the largest absolute value. The bits of
	// infinities and NaNs are larger than those of finite numbers.
	greatest func(x []float32) uint32
	// deposit adds scale times each number, rounded to an integer, to its sum, and
	// reports whether any product was not an integer. The products are below 2^61.
	deposit func(sums []int64, x []float32, scale float64) bool
	// squares adds the square of the difference of element i of x and y, which are of
	// one length, to sum i modulo 8.
	squares func(sums *[squareLanes]float64, x, y []float32)
}

// squareLanes is how many independent sums a kernel has of squares. Each processor
// adds to the same sums in the same order, so that all come to the same bits.
const squareLanes = 8

// portable returns the kernel that every processor runs.
func portable() kernel {
	return kernel{greatest: greatest32, deposit: deposit32, squares: squares32}
}

func greatest32(x []float32) uint32 {
	var a, b, c, d uint32
	for len(x) >= 4 {
		a = max(a, math.Float32bits(x[0])&0x7fffffff)
		b = max(b, math.Float32bits(x[1])&0x7fffffff)
		c = max(c, math.Float32bits(x[2])&0x7fffffff)
		d = max(d, math.Float32bits(x[3])&0x7fffffff)
		x = x[4:]
	}
	for _, v := range x {
		a = max(a, math.Float32bits(v)&0x7fffffff)
	}
	return max(a, b, c, d)
}

func deposit32(sums []int64, x []float32, scale float64) bool {
	var rest uint64 // bits of the remainder; the sign of a zero does not count
	sums = sums[:len(x)]
	for i, v := range x {
		s := float64(v) * scale
		whole := math.RoundToEven(s)
		sums[i] += int64(whole)
		rest |= math.Float64bits(s - whole)
	}
	return rest<<1 != 0
}

func squares32(sums *[squareLanes]float64, x, y []float32) {
	y = y[:len(x)]
	i := 0
	for ; i+squareLanes <= len(x); i += squareLanes {
		p, q := x[i:i+squareLanes:i+squareLanes], y[i:i+squareLanes:i+squareLanes]
		for k := range sums {
			d := float64(p[k]) - float64(q[k])
			sums[k] += float64(d * d) // rounded, not fused
		}
	}
	for ; i < len(x); i++ {
		d := float64(x[i]) - float64(y[i])
		sums[i%squareLanes] += float64(d * d)
	}
}
