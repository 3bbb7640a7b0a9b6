package tensor

import (
	"encoding/binary"
	"math"
	"slices"
)

// Builder makes a tensor from 64-bit numbers. It serves one goroutine at a
// time, or several that write to different elements. Make one with [NewBuilder].
type Builder struct {
	dtype DType
	shape []int
	data  []byte
}

// NewBuilder returns a builder of a tensor with the type and shape. All elements
// are zero at first. It panics if there is no such tensor.
func NewBuilder(dtype DType, shape []int) *Builder {
	count, err := elements(shape)
	if err == nil && dtype.Size() == 0 {
		err = ErrShape
	}
	if err != nil {
		panic(err)
	}
	return &Builder{dtype: dtype, shape: slices.Clone(shape), data: make([]byte, count*dtype.Size())}
}

// Write puts values at the elements from an index on. Each is rounded to the
// nearest number of the type, to even in the middle; whole numbers stop at the
// least and the greatest of the type, and not-a-number becomes 0 there; a truth
// value is true from 0.5 on.
func (b *Builder) Write(values []float64, from int) {
	width := b.dtype.Size()
	store(b.data[from*width:(from+len(values))*width], values, b.dtype)
}

// Tensor returns what was built. The builder must not be used any more.
func (b *Builder) Tensor() Tensor {
	t := Tensor{dtype: b.dtype, shape: b.shape, size: len(b.data)}
	if len(b.data) > 0 {
		t.chunks, t.ends = [][]byte{b.data}, []int{len(b.data)}
	}
	return t
}

func store(dst []byte, values []float64, dtype DType) {
	order := binary.LittleEndian
	switch dtype {
	case Float32:
		for i, v := range values {
			order.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
	case Float64:
		for i, v := range values {
			order.PutUint64(dst[8*i:], math.Float64bits(v))
		}
	case Float16:
		for i, v := range values {
			order.PutUint16(dst[2*i:], toHalf(v))
		}
	case BFloat16:
		for i, v := range values {
			order.PutUint16(dst[2*i:], toBFloat(v))
		}
	case Bool:
		for i, v := range values {
			dst[i] = 0
			if v >= 0.5 {
				dst[i] = 1
			}
		}
	default:
		for i, v := range values {
			storeInteger(dst, i, v, dtype)
		}
	}
}

func storeInteger(dst []byte, i int, v float64, dtype DType) {
	var bits uint64
	width := dtype.Size()
	if dtype >= Uint8 {
		bits = toUnsigned(v, 8*width)
	} else {
		bits = uint64(toSigned(v, 8*width))
	}
	for k := range width {
		dst[i*width+k] = byte(bits >> (8 * k))
	}
}

// toSigned rounds to a whole number of so many bits.
func toSigned(v float64, bits int) int64 {
	limit := math.Ldexp(1, bits-1)
	v = math.RoundToEven(v)
	switch {
	case v != v:
		return 0
	case v >= limit:
		return int64(1)<<(bits-1) - 1
	case v < -limit:
		return -1 << (bits - 1)
	}
	return int64(v)
}

// toUnsigned rounds to a whole number of so many bits without a sign.
func toUnsigned(v float64, bits int) uint64 {
	v = math.RoundToEven(v)
	switch {
	case v != v || v < 0:
		return 0
	case v >= math.Ldexp(1, bits):
		return math.MaxUint64 >> (64 - bits)
	}
	return uint64(v)
}
