package secagg

import (
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// errMasks means that masks did not cancel.
const errMasks = "the sum of number %d is %d, over the %d that %d clients can have: a client did not keep to the protocol"

// dequantize returns the weighted mean of a sum of clients' vectors, in the
// order of operations of Flower's workflow, and the sum of their weights.
func (r *Round) dequantize(s sum, clients int) (mean []tensor.Tensor, weight float64, err error) {
	var buffer [1024]uint64
	var values [1024]float64
	s.at(buffer[:1], 0)
	if buffer[0] == 0 {
		return nil, 0, fmt.Errorf("%w: all clients have no examples", ErrProtocol)
	}
	weight = float64(buffer[0])
	step := 2 * r.config.ClippingRange / float64(r.config.QuantizationRange)
	offset := -float64(clients-1) * r.config.ClippingRange
	scale := float64(r.config.QuantizationRange) / weight
	limit := uint64(clients) * uint64(r.config.QuantizationRange)
	at := 1
	for _, shape := range r.config.Shapes {
		builder := tensor.NewBuilder(tensor.Float64, shape)
		size := count([][]int{shape})
		for from := 0; from < size; {
			n := min(len(buffer), size-from)
			s.at(buffer[:n], at)
			for i, q := range buffer[:n] {
				if q > limit {
					return nil, 0, fmt.Errorf("%w: "+errMasks, ErrProtocol, at+i, q, limit, clients)
				}
				// The conversions keep compilers from fusing operations.
				value := float64(float64(q)*step) - r.config.ClippingRange
				values[i] = float64(value+offset) * scale
			}
			builder.Write(values[:n], from)
			from, at = from+n, at+n
		}
		mean = append(mean, builder.Tensor())
	}
	return mean, weight, nil
}

// quantize appends the steps of numbers times a ratio to dst, rounded at random
// so that the mean of the rounding is exact, as Flower's clients do. A number
// that is not finite is an error.
func quantize(dst []uint64, numbers []float64, ratio, clipping float64, levels int64, random func() float64) ([]uint64, error) {
	scale := float64(levels) / (2 * clipping)
	for i, number := range numbers {
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, fmt.Errorf("number %d is %v", i, number)
		}
		exact := (min(max(number*ratio, -clipping), clipping) + clipping) * scale
		above := math.Ceil(exact)
		if random() < above-exact {
			above--
		}
		dst = append(dst, uint64(above))
	}
	return dst, nil
}
