package tensor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrType matches the error of an array of numbers whose type is not a [DType],
// such as complex numbers and floating-point numbers of 80 or 128 bits.
var ErrType = errors.New("tensor: numbers of an unsupported type")

// DType is the type of a tensor's elements. The zero value is no type.
type DType uint8

// The types that tensors may have.
const (
	Bool     DType = iota + 1 // one byte, 0 or 1
	Int8                      // signed, 8 bits
	Int16                     // signed, 16 bits
	Int32                     // signed, 32 bits
	Int64                     // signed, 64 bits
	Uint8                     // unsigned, 8 bits
	Uint16                    // unsigned, 16 bits
	Uint32                    // unsigned, 32 bits
	Uint64                    // unsigned, 64 bits
	Float16                   // IEEE 754 binary16
	Float32                   // IEEE 754 binary32
	Float64                   // IEEE 754 binary64
	BFloat16                  // the high half of a binary32; NumPy sees two bytes of no type, V2
)

// kind is NumPy's description of a type: a letter and a number of bytes.
type kind struct {
	letter byte
	size   int
}

// kind returns the description of the type, and one of size 0 for no type.
func (d DType) kind() kind {
	switch d {
	case Bool:
		return kind{'b', 1}
	case Int8, Int16, Int32, Int64:
		return kind{'i', 1 << (d - Int8)}
	case Uint8, Uint16, Uint32, Uint64:
		return kind{'u', 1 << (d - Uint8)}
	case Float16, Float32, Float64:
		return kind{'f', 2 << (d - Float16)}
	case BFloat16:
		return kind{'V', 2}
	}
	return kind{}
}

// Size returns the bytes of one element: 1, 2, 4 or 8, and 0 for no type.
func (d DType) Size() int { return d.kind().size }

// IsInteger reports whether the type is an integer or boolean type.
func (d DType) IsInteger() bool { return d >= Bool && d <= Uint64 }

// String returns NumPy's name for the type, such as "float32".
func (d DType) String() string {
	bits := strconv.Itoa(8 * d.Size())
	switch d.kind().letter {
	case 'b':
		return "bool"
	case 'i':
		return "int" + bits
	case 'u':
		return "uint" + bits
	case 'f':
		return "float" + bits
	case 'V':
		return "bfloat16"
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

// descr returns the type as it is written in the header of a .npy file.
func (d DType) descr() string {
	k := d.kind()
	order := "<"
	if k.size == 1 || k.letter == 'V' {
		order = "|"
	}
	return order + string(k.letter) + strconv.Itoa(k.size)
}

// parseDescr reads the type of a header, and whether its elements are
// big-endian.
func parseDescr(descr string) (d DType, bigEndian bool, err error) {
	if len(descr) < 2 {
		return 0, false, fmt.Errorf("unknown dtype %q", descr)
	}
	order, rest := descr[0], descr[1:]
	switch order {
	case '<', '>', '|', '=':
	default:
		order, rest = '=', descr
	}
	switch rest[0] {
	case 'O':
		return 0, false, fmt.Errorf("dtype %q holds Python objects, which are not read", descr)
	case 'U', 'S', 'a':
		return 0, false, fmt.Errorf("dtype %q holds text, not numbers", descr)
	case 'c':
		return 0, false, fmt.Errorf("%w: dtype %q holds complex numbers", ErrType, descr)
	}
	for d := Bool; d <= BFloat16; d++ {
		k := d.kind()
		if rest == string(k.letter)+strconv.Itoa(k.size) {
			return d, order == '>' && k.size > 1, nil
		}
	}
	if rest == "?" {
		return Bool, false, nil
	}
	if _, err := strconv.ParseUint(rest[1:], 10, 16); err == nil && strings.ContainsRune("biuf", rune(rest[0])) {
		return 0, false, fmt.Errorf("%w: unknown dtype %q", ErrType, descr)
	}
	return 0, false, fmt.Errorf("unknown dtype %q", descr)
}
