package strategy

import (
	"math"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// certainly is a distance from a model that only finite elements can have.
const certainly = 0x1p120

// distance returns the Euclidean distance of two models of one form, in the same
// bits at every call. It is infinite or not a number where an element is.
func distance(a, b Model) float64 {
	total := 0.0
	for layer := range a {
		if a[layer].DType() == tensor.Float32 {
			total += squares32(a[layer], b[layer])
			continue
		}
		total += squaredDistance(a[layer:layer+1], b[layer:layer+1])
	}
	return math.Sqrt(total)
}

// squares32 is the squared distance of two tensors of 32-bit numbers. The four
// sums do not wait for each other.
func squares32(a, b tensor.Tensor) float64 {
	var left, right [4096]float32
	var sums [4]float64
	for from := 0; from < a.Len(); from += len(left) {
		n := min(len(left), a.Len()-from)
		x, y := a.Float32s(from, n, left[:]), b.Float32s(from, n, right[:])
		y = y[:len(x)]
		i := 0
		for ; i+4 <= len(x); i += 4 {
			p, q := x[i:i+4:i+4], y[i:i+4:i+4]
			d0, d1 := float64(p[0])-float64(q[0]), float64(p[1])-float64(q[1])
			d2, d3 := float64(p[2])-float64(q[2]), float64(p[3])-float64(q[3])
			sums[0] += d0 * d0
			sums[1] += d1 * d1
			sums[2] += d2 * d2
			sums[3] += d3 * d3
		}
		for ; i < len(x); i++ {
			d := float64(x[i]) - float64(y[i])
			sums[0] += d * d
		}
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3])
}
