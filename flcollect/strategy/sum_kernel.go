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
}

// portable returns the kernel that every processor runs.
func portable() kernel { return kernel{greatest: greatest32, deposit: deposit32} }

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
