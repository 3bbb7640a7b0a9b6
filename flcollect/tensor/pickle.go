package tensor

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The opcodes that are written, as Python's module pickletools names them.
const (
	opProto           = 0x80
	opMark            = '('
	opStop            = '.'
	opEmptyList       = ']'
	opAppends         = 'e'
	opEmptyTuple      = ')'
	opTuple           = 't'
	opTuple1          = 0x85
	opTuple3          = 0x87
	opNone            = 'N'
	opTrue            = 0x88
	opFalse           = 0x89
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opLong1           = 0x8a
	opShortBinUnicode = 0x8c
	opShortBinBytes   = 'C'
	opBinBytes        = 'B'
	opBinBytes8       = 0x8e
	opStackGlobal     = 0x93
	opReduce          = 'R'
	opBuild           = 'b'
	opNewObj          = 0x81
	opEmptyDict       = '}'
	opSetItems        = 'u'
)

// WritePickle writes the arrays as Python's pickle.dump(list_of_arrays) does, in
// protocol 4 (PEP 3154): what Python 3.8 and later load as a list of
// numpy.ndarray, in C order and with the low byte first, under NumPy 1 and 2.
// BFloat16, which NumPy does not have, is written as its type V2. The elements
// are written to w without copying them. The same arrays make the same bytes.
func WritePickle(w io.Writer, arrays ...Tensor) error {
	p := pickle{opProto, 4, opEmptyList, opMark}
	for k, array := range arrays {
		if array.dtype.Size() == 0 {
			return fmt.Errorf("write array %d: %w: %v is no type of elements", k, ErrShape, array.dtype)
		}
		p.arrayBefore(array)
		if err := p.flush(w, array.chunks...); err != nil {
			return fmt.Errorf("write array %d: %w", k, err)
		}
		p = append(p, opTuple, opBuild)
	}
	p = append(p, opAppends, opStop)
	if err := p.flush(w); err != nil {
		return fmt.Errorf("write the end of the pickle: %w", err)
	}
	return nil
}

// WriteParametersPickle writes what Python's pickle.dump writes of an object of
// Flower's class Parameters (flwr.common.typing, 0.18 and later): tensors, a list
// of bytes that are those of the given tensors' elements, and tensor_type. It is
// protocol 4 (PEP 3154), and Python needs Flower to load it. The elements are
// written to w without copying them.
func WriteParametersPickle(w io.Writer, kind string, tensors ...Tensor) error {
	if len(kind) > math.MaxUint8 {
		return fmt.Errorf("write the type of the parameters: it has %d bytes, at most %d", len(kind), math.MaxUint8)
	}
	p := pickle{opProto, 4}
	p.global("flwr.common.typing", "Parameters")
	p = append(p, opEmptyTuple, opNewObj, opEmptyDict, opMark)
	p.text("tensors")
	p = append(p, opEmptyList, opMark)
	for k, t := range tensors {
		p.bytesBefore(uint64(t.size))
		if err := p.flush(w, t.chunks...); err != nil {
			return fmt.Errorf("write tensor %d: %w", k, err)
		}
	}
	p = append(p, opAppends)
	p.text("tensor_type")
	p.text(kind)
	p = append(p, opSetItems, opBuild, opStop)
	if err := p.flush(w); err != nil {
		return fmt.Errorf("write the end of the pickle: %w", err)
	}
	return nil
}

// pickle is instructions that are not written yet.
type pickle []byte

// flush writes the instructions, and then bytes that belong to the last one.
func (p *pickle) flush(w io.Writer, data ...[]byte) error {
	if _, err := w.Write(*p); err != nil {
		return err
	}
	*p = (*p)[:0]
	for _, chunk := range data {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// arrayBefore makes an array, up to its elements. The name of the module is the
// one that NumPy 1 writes, and that NumPy 2 keeps for the sake of old files.
func (p *pickle) arrayBefore(t Tensor) {
	p.global("numpy.core.multiarray", "_reconstruct")
	p.global("numpy", "ndarray")
	p.integer(0)
	*p = append(*p, opTuple1)
	p.bytesBefore(1)
	*p = append(*p, 'b', opTuple3, opReduce, opMark)
	p.integer(1) // the version of the state that follows
	p.shape(t.shape)
	p.dtype(t.dtype)
	*p = append(*p, opFalse) // not in Fortran order
	p.bytesBefore(uint64(t.size))
}

// dtype makes a type: numpy.dtype(name, align=False, copy=True), and its state.
func (p *pickle) dtype(d DType) {
	descr := d.descr()
	p.global("numpy", "dtype")
	p.text(descr[1:])
	*p = append(*p, opFalse, opTrue, opTuple3, opReduce, opMark)
	p.integer(3) // the version of the state that follows
	p.text(descr[:1])
	*p = append(*p, opNone, opNone, opNone) // no parts, names or fields
	size, alignment := -1, -1               // as the type has it
	if d == BFloat16 {
		size, alignment = d.Size(), 1
	}
	p.integer(size)
	p.integer(alignment)
	p.integer(0) // no flags
	*p = append(*p, opTuple, opBuild)
}

func (p *pickle) shape(axes []int) {
	if len(axes) == 0 {
		*p = append(*p, opEmptyTuple)
		return
	}
	*p = append(*p, opMark)
	for _, n := range axes {
		p.integer(n)
	}
	*p = append(*p, opTuple)
}

func (p *pickle) global(module, name string) {
	p.text(module)
	p.text(name)
	*p = append(*p, opStackGlobal)
}

// text makes a string of under 256 bytes.
func (p *pickle) text(s string) {
	*p = append(append(*p, opShortBinUnicode, byte(len(s))), s...)
}

func (p *pickle) integer(n int) {
	switch {
	case n >= 0 && n <= math.MaxUint8:
		*p = append(*p, opBinInt1, byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		*p = binary.LittleEndian.AppendUint32(append(*p, opBinInt), uint32(n))
	default:
		*p = binary.LittleEndian.AppendUint64(append(*p, opLong1, 8), uint64(n))
	}
}

// bytesBefore makes a bytes object of n bytes, which have to follow.
func (p *pickle) bytesBefore(n uint64) {
	switch {
	case n <= math.MaxUint8:
		*p = append(*p, opShortBinBytes, byte(n))
	case n <= math.MaxUint32:
		*p = binary.LittleEndian.AppendUint32(append(*p, opBinBytes), uint32(n))
	default:
		*p = binary.LittleEndian.AppendUint64(append(*p, opBinBytes8), n)
	}
}
