package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// ErrShape is returned where elements and shape do not agree.
var ErrShape = errors.New("tensor: shape does not fit")

// Tensor is an array of numbers. It is immutable and may be used by several
// goroutines at once; copying it copies no elements. The zero value has no type
// and no elements.
type Tensor struct {
	dtype  DType
	shape  []int
	chunks [][]byte // the elements, row-major, low byte first; none is empty
	ends   []int    // where in the elements each chunk ends, in bytes
	size   int      // of all elements in bytes
}

// New returns a tensor over elements that are row-major with the low byte
// first. It keeps data and shape, which must not be changed any more.
func New(dtype DType, shape []int, data ...[]byte) (Tensor, error) {
	count, err := elements(shape)
	if err != nil {
		return Tensor{}, err
	}
	width := dtype.Size()
	if width == 0 {
		return Tensor{}, fmt.Errorf("%w: %v is no type of elements", ErrShape, dtype)
	}
	t := Tensor{dtype: dtype, shape: shape}
	for _, chunk := range data {
		if len(chunk) == 0 {
			continue
		}
		t.size += len(chunk)
		t.chunks, t.ends = append(t.chunks, chunk), append(t.ends, t.size)
	}
	if count > math.MaxInt/width || t.size != count*width {
		return Tensor{}, fmt.Errorf("%w: shape %v of %v needs %d elements, there are %d bytes", ErrShape, shape, dtype,
			count, t.size)
	}
	return t, nil
}

// FromFloat32s returns a tensor of 32-bit numbers. It panics if the values do
// not fill the shape, as a literal that is wrong. Without a shape it is a vector.
func FromFloat32s(values []float32, shape ...int) Tensor {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return literal(Float32, len(values), data, shape)
}

// FromFloat64s returns a tensor of 64-bit numbers. It panics if the values do
// not fill the shape, as a literal that is wrong. Without a shape it is a vector.
func FromFloat64s(values []float64, shape ...int) Tensor {
	data := make([]byte, 0, 8*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return literal(Float64, len(values), data, shape)
}

// FromInt64s returns a tensor of 64-bit whole numbers. It panics if the values
// do not fill the shape, as a literal that is wrong. Without a shape it is a vector.
func FromInt64s(values []int64, shape ...int) Tensor {
	data := make([]byte, 0, 8*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return literal(Int64, len(values), data, shape)
}

func literal(dtype DType, count int, data []byte, shape []int) Tensor {
	if len(shape) == 0 {
		shape = []int{count}
	}
	t, err := New(dtype, slices.Clone(shape), data)
	if err != nil {
		panic(err)
	}
	return t
}

// DType returns the type of the elements.
func (t Tensor) DType() DType { return t.dtype }

// Shape returns the length of each axis, none for a single number. The caller
// may change the slice.
func (t Tensor) Shape() []int { return slices.Clone(t.shape) }

// Len returns the number of elements.
func (t Tensor) Len() int {
	if t.size == 0 {
		return 0
	}
	return t.size / t.dtype.Size()
}

// Size returns the bytes of all elements.
func (t Tensor) Size() int { return t.size }

// SameForm returns nil if both tensors have the same type and shape, and
// otherwise an error that matches [ErrShape] and names what differs.
func (t Tensor) SameForm(other Tensor) error {
	if t.dtype != other.dtype {
		return fmt.Errorf("%w: type %v, expected %v", ErrShape, t.dtype, other.dtype)
	}
	if !slices.Equal(t.shape, other.shape) {
		return fmt.Errorf("%w: shape %v, expected %v", ErrShape, t.shape, other.shape)
	}
	return nil
}

// Chunks returns the bytes of the elements, row-major and little-endian,
// without copying them. They must not be changed.
func (t Tensor) Chunks() [][]byte { return slices.Clone(t.chunks) }

// bytes returns n bytes of the elements from an offset. They are a view where
// they lie in one chunk, and otherwise copied into scratch, which has room.
func (t Tensor) bytes(from, n int, scratch []byte) []byte {
	if n == 0 {
		return nil
	}
	at := 0
	if len(t.chunks) > 1 {
		at = sort.SearchInts(t.ends, from+1)
	}
	chunk := t.chunks[at]
	inside := from - (t.ends[at] - len(chunk))
	if inside+n <= len(chunk) {
		return chunk[inside : inside+n]
	}
	done := copy(scratch[:n], chunk[inside:])
	for at++; done < n; at++ {
		done += copy(scratch[done:n], t.chunks[at])
	}
	return scratch[:n]
}

// elements returns the product of a shape.
func elements(shape []int) (int, error) {
	count := 1
	for axis, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("%w: axis %d has length %d", ErrShape, axis, n)
		}
		if n == 0 {
			return 0, nil
		}
		if count > math.MaxInt/8/n {
			return 0, fmt.Errorf("%w: %v has too many elements", ErrShape, shape)
		}
		count *= n
	}
	return count, nil
}
