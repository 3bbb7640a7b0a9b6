package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// piece is how many elements are converted at a time.
const piece = 512

// Float32s returns n elements from an index as 32-bit numbers. For a tensor of
// [Float32] it is a view of the tensor's own bytes where they lie together and
// the processor can read them, so it must not be changed; otherwise the elements are put into
// scratch, which must have room for n, and numbers of other types are rounded.
// It panics if the range goes beyond the tensor.
func (t Tensor) Float32s(from, n int, scratch []float32) []float32 {
	t.check(from, n)
	if n == 0 {
		return nil
	}
	scratch = scratch[:n]
	if t.dtype == Float32 && littleEndian() {
		into := unsafe.Slice((*byte)(unsafe.Pointer(&scratch[0])), 4*n)
		found := t.bytes(4*from, 4*n, into)
		at := unsafe.Pointer(unsafe.SliceData(found))
		if at == unsafe.Pointer(&scratch[0]) {
			return scratch
		}
		if uintptr(at)%4 == 0 || readsUnaligned {
			return unsafe.Slice((*float32)(at), n)
		}
		copy(into, found)
		return scratch
	}
	var wide [piece]float64
	for done := 0; done < n; done += piece {
		part := wide[:min(piece, n-done)]
		t.ReadFloat64s(part, from+done)
		for i, v := range part {
			scratch[done+i] = float32(v)
		}
	}
	return scratch
}

// readsUnaligned is whether this processor reads numbers at any address. Bytes of a
// message are at any.
const readsUnaligned = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

// ReadFloat64s puts the elements from an index on into dst, as many as it
// holds. Whole numbers beyond 2^53 are rounded. It panics if the range goes
// beyond the tensor.
func (t Tensor) ReadFloat64s(dst []float64, from int) {
	t.check(from, len(dst))
	width := t.dtype.Size()
	var scratch [8 * piece]byte
	for done := 0; done < len(dst); done += piece {
		part := dst[done:min(done+piece, len(dst))]
		convert(part, t.bytes((from+done)*width, len(part)*width, scratch[:]), t.dtype)
	}
}

// Float64s returns all elements in a slice of their own. Whole numbers beyond
// 2^53 are rounded.
func (t Tensor) Float64s() []float64 {
	values := make([]float64, t.Len())
	t.ReadFloat64s(values, 0)
	return values
}

func (t Tensor) check(from, n int) {
	if from < 0 || n < 0 || from > t.Len()-n {
		panic(fmt.Sprintf("tensor: read of %d elements from %d, there are %d", n, from, t.Len()))
	}
}

// convert reads as many elements as dst holds.
func convert(dst []float64, src []byte, dtype DType) {
	order := binary.LittleEndian
	switch dtype {
	case Bool:
		for i := range dst {
			dst[i] = 0
			if src[i] != 0 {
				dst[i] = 1
			}
		}
	case Int8:
		for i := range dst {
			dst[i] = float64(int8(src[i]))
		}
	case Int16:
		for i := range dst {
			dst[i] = float64(int16(order.Uint16(src[2*i:])))
		}
	case Int32:
		for i := range dst {
			dst[i] = float64(int32(order.Uint32(src[4*i:])))
		}
	case Int64:
		for i := range dst {
			dst[i] = float64(int64(order.Uint64(src[8*i:])))
		}
	case Uint8:
		for i := range dst {
			dst[i] = float64(src[i])
		}
	case Uint16:
		for i := range dst {
			dst[i] = float64(order.Uint16(src[2*i:]))
		}
	case Uint32:
		for i := range dst {
			dst[i] = float64(order.Uint32(src[4*i:]))
		}
	case Uint64:
		for i := range dst {
			dst[i] = float64(order.Uint64(src[8*i:]))
		}
	case Float16:
		for i := range dst {
			dst[i] = fromHalf(order.Uint16(src[2*i:]))
		}
	case BFloat16:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(uint32(order.Uint16(src[2*i:])) << 16))
		}
	case Float32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(order.Uint32(src[4*i:])))
		}
	case Float64:
		for i := range dst {
			dst[i] = math.Float64frombits(order.Uint64(src[8*i:]))
		}
	}
}

// littleEndian reports whether this machine has the low byte first. The
// compiler knows.
func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}
