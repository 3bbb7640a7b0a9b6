package tensor

import (
	"errors"
	"fmt"
	"math"
)

// ErrRange matches the error of [Tensor.As] for an element that the other type
// cannot hold.
var ErrRange = errors.New("tensor: number out of range")

// As returns a tensor of another type with the same shape. Each element is rounded
// as [Builder.Write] does, but never truncated: a number that is not finite, or
// that the type cannot hold after rounding, is an error that matches [ErrRange] and
// names the element. So only elements that round to 0 or 1 become booleans.
// Integers beyond 2^53 are converted through 64-bit floating point. A tensor that
// has the type is returned unchanged.
func (t Tensor) As(dtype DType) (Tensor, error) {
	if t.dtype == dtype {
		return t, nil
	}
	b := NewBuilder(dtype, t.shape)
	var values [piece]float64
	for from := 0; from < t.Len(); from += piece {
		part := values[:min(piece, t.Len()-from)]
		t.ReadFloat64s(part, from)
		for i, v := range part {
			if !dtype.Holds(v) {
				return Tensor{}, fmt.Errorf("%w: element %d is %v, which %v does not hold", ErrRange, from+i, v, dtype)
			}
		}
		b.Write(part, from)
	}
	return b.Tensor(), nil
}

// Holds reports whether a number is finite, and still is so after it was rounded
// to the type.
func (d DType) Holds(v float64) bool {
	switch d {
	case Float64:
		return finite(v)
	case Float32:
		return finite(float64(float32(v)))
	case Float16:
		return finite(fromHalf(toHalf(v)))
	case BFloat16:
		return finite(float64(math.Float32frombits(uint32(toBFloat(v)) << 16)))
	case Bool:
		v = math.RoundToEven(v)
		return v == 0 || v == 1
	}
	v, bits := math.RoundToEven(v), 8*d.Size()
	if d >= Uint8 {
		return v >= 0 && v < math.Ldexp(1, bits)
	}
	return v >= -math.Ldexp(1, bits-1) && v < math.Ldexp(1, bits-1)
}

func finite(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }
