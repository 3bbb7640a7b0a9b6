package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat is returned for bytes that are not a .npy file, or not a supported
// one. The message names the part.
var ErrFormat = errors.New("tensor: bad .npy file")

// magic opens every .npy file.
const magic = "\x93NUMPY"

// longestHeader is the most that the header of a file may have in bytes. That
// of 64 axes has under 2 KiB.
const longestHeader = 64 << 10

// Decode reads a .npy file of version 1, 2 or 3 (NEP 1) that may lie in several
// chunks. The tensor refers to the chunks if its elements are row-major and
// little-endian, so they must not be changed; other elements are converted.
// Errors match [ErrFormat].
func Decode(chunks ...[]byte) (Tensor, error) {
	file := rope(chunks)
	h, err := file.header()
	if err != nil {
		return Tensor{}, err
	}
	return h.tensor(file)
}

// DecodeFirst reads the first of several .npy files that follow each other, as
// [Decode] does, and returns what comes after it.
func DecodeFirst(chunks ...[]byte) (first Tensor, rest [][]byte, err error) {
	file := rope(chunks)
	h, err := file.header()
	if err != nil {
		return Tensor{}, nil, err
	}
	count, err := elements(h.shape)
	if err != nil {
		return Tensor{}, nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if most := math.MaxInt / h.dtype.Size(); count > most {
		return Tensor{}, nil, fmt.Errorf("%w: %v has too many elements", ErrFormat, h.shape)
	}
	data, ok := file.cut(count * h.dtype.Size())
	if !ok {
		return Tensor{}, nil, fmt.Errorf("%w: it ends in its %d elements", ErrFormat, count)
	}
	first, err = h.tensor(data)
	return first, file, err
}

// header removes the header of a file from the front.
func (r *rope) header() (header, error) {
	head, ok := r.take(len(magic) + 2)
	if !ok || string(head[:len(magic)]) != magic {
		return header{}, fmt.Errorf("%w: it does not begin with the magic of one", ErrFormat)
	}
	width := 4
	switch major := head[len(magic)]; major {
	case 1:
		width = 2
	case 2, 3:
	default:
		return header{}, fmt.Errorf("%w: version %d", ErrFormat, major)
	}
	digits, ok := r.take(width)
	if !ok {
		return header{}, fmt.Errorf("%w: it ends in the length of the header", ErrFormat)
	}
	length := int64(binary.LittleEndian.Uint16(digits))
	if width == 4 {
		length = int64(binary.LittleEndian.Uint32(digits))
	}
	if length > longestHeader {
		return header{}, fmt.Errorf("%w: a header of %d bytes, at most %d are read", ErrFormat, length, longestHeader)
	}
	text, ok := r.take(int(length))
	if !ok {
		return header{}, fmt.Errorf("%w: it ends in the header", ErrFormat)
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return h, nil
}

// Encode returns the tensor as a .npy file in chunks: a header as
// numpy.save writes it, and the tensor's own bytes, which must not be changed.
func Encode(t Tensor) [][]byte {
	return append([][]byte{header{dtype: t.dtype, shape: t.shape}.bytes()}, t.chunks...)
}

// tensor returns the elements that follow the header.
func (h header) tensor(elements rope) (Tensor, error) {
	t, err := New(h.dtype, h.shape, elements...)
	if err != nil {
		return Tensor{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !h.bigEndian && (!h.fortran || len(h.shape) < 2) || t.size == 0 {
		return t, nil
	}
	data := t.bytes(0, t.size, make([]byte, t.size))
	if h.bigEndian {
		data = swapped(data, h.dtype.Size())
	}
	if h.fortran {
		data = rowMajor(data, h.shape, h.dtype.Size())
	}
	return New(h.dtype, h.shape, data)
}

// swapped returns the elements with their bytes reversed.
func swapped(data []byte, width int) []byte {
	turned := make([]byte, len(data))
	for at := 0; at < len(data); at += width {
		for k := range width {
			turned[at+k] = data[at+width-1-k]
		}
	}
	return turned
}

// rowMajor returns elements of Fortran order, the first axis fastest, in the
// order of C, the last axis fastest.
func rowMajor(data []byte, shape []int, width int) []byte {
	turned := make([]byte, len(data))
	strides := make([]int, len(shape)) // of the source, in bytes
	stride := width
	for axis, n := range shape {
		strides[axis] = stride
		stride *= n
	}
	index := make([]int, len(shape))
	from := 0
	for at := 0; at < len(turned); at += width {
		copy(turned[at:at+width], data[from:from+width])
		for axis := len(shape) - 1; axis >= 0; axis-- {
			index[axis]++
			from += strides[axis]
			if index[axis] < shape[axis] {
				break
			}
			from -= index[axis] * strides[axis]
			index[axis] = 0
		}
	}
	return turned
}

// rope is bytes in chunks that are taken from the front.
type rope [][]byte

// take removes n bytes from the front and returns them, as a view if they are
// in one chunk. It returns false if there are fewer.
func (r *rope) take(n int) ([]byte, bool) {
	for len(*r) > 0 && len((*r)[0]) == 0 {
		*r = (*r)[1:]
	}
	if len(*r) == 0 {
		return nil, n == 0
	}
	chunks := append(rope(nil), *r...)
	var joined []byte
	for n > 0 {
		if len(chunks) == 0 {
			return nil, false
		}
		first := chunks[0]
		if len(first) <= n {
			chunks = chunks[1:]
		} else {
			chunks[0] = first[n:]
			first = first[:n]
		}
		n -= len(first)
		if joined == nil {
			joined = first[:len(first):len(first)]
		} else {
			joined = append(joined, first...)
		}
	}
	*r = chunks
	return joined, true
}

// cut removes n bytes from the front and returns them as views. It returns false if
// there are fewer.
func (r *rope) cut(n int) (rope, bool) {
	var front rope
	chunks := *r
	for ; n > 0 && len(chunks) > 0; chunks = chunks[1:] {
		first := chunks[0]
		if len(first) > n {
			front = append(front, first[:n:n])
			*r = append(rope{first[n:]}, chunks[1:]...)
			return front, true
		}
		front = append(front, first)
		n -= len(first)
	}
	*r = chunks
	return front, n == 0
}
