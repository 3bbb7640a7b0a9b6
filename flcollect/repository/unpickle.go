package repository

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// What a pickle may hold. A strategy of Flower has some hundred instructions,
// and besides them perhaps a model, which is passed over.
const (
	maxInstructions = 100_000
	maxPickledText  = 1 << 10
)

// What values of a pickle are, besides nil, bool, int64, float64 and string.
type (
	// pickledClass is a global name: its module, a dot, and its own.
	pickledClass string
	// pickledObject is an instance that was never made.
	pickledObject struct {
		class pickledClass
		state map[string]any
	}
	// pickledDict holds what has a text for a key.
	pickledDict map[string]any
	// opaque is everything else.
	opaque struct{}
	// mark is where the items of a collection begin.
	mark struct{}
)

// unpickler reads a pickle of protocol 2 to 5 (Python library, pickletools) and
// runs nothing of it: names stay names, and calls are not made.
type unpickler struct {
	in    *bufio.Reader
	stack []any
	memo  map[uint32]any
}

// errPickle is what a pickle is that makes no sense.
var errPickle = errors.New("it is no pickle that can be read")

// unpickle reads one value.
func unpickle(from io.Reader) (any, error) {
	u := &unpickler{in: bufio.NewReader(from), memo: map[uint32]any{}}
	for range maxInstructions {
		code, err := u.in.ReadByte()
		if err != nil {
			return nil, cut(err)
		}
		if code == '.' {
			return u.pop()
		}
		if err := u.step(code); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: it has more than %d instructions", errPickle, maxInstructions)
}

// cut is the error of a pickle that ends too early, or of its reader.
func cut(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it breaks off", errPickle)
	}
	return err
}

func (u *unpickler) step(code byte) error {
	switch code {
	case 0x80: // PROTO
		return u.skip(1)
	case 0x95: // FRAME
		return u.skip(8)
	case '(':
		return u.push(mark{}, nil)
	case 'N':
		return u.push(nil, nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return u.push(code == 0x88, nil)
	case ']', ')', 0x8f: // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
		return u.push(opaque{}, nil)
	case '}': // EMPTY_DICT
		return u.push(pickledDict{}, nil)
	case 'K', 'M', 'J', 'G', 0x8a: // BININT1, BININT2, BININT, BINFLOAT, LONG1
		return u.push(u.number(code))
	case 0x8c, 'X', 0x8d: // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
		return u.push(u.text(code))
	case 'C', 'U', 'B', 'T', 0x8e, 0x96: // bytes
		return u.push(opaque{}, u.pass(code))
	case 'q', 'r', 0x94, 'h', 'j': // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
		return u.remember(code)
	case 'a', 's', 'e', 'u', 0x90: // APPEND, SETITEM, APPENDS, SETITEMS, ADDITEMS
		return u.fill(code)
	case 't', 'l', 0x91: // TUPLE, LIST, FROZENSET
		_, err := u.popMark()
		return errors.Join(err, u.push(opaque{}, nil))
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		_, err := u.popN(int(code) - 0x84)
		return u.push(opaque{}, err)
	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return u.push(u.global(code))
	case 'R', 0x81, 0x92, 'b': // REDUCE, NEWOBJ, NEWOBJ_EX, BUILD
		return u.make(code)
	}
	return fmt.Errorf("%w: instruction %#x", errPickle, code)
}

func (u *unpickler) push(v any, err error) error {
	if err == nil {
		u.stack = append(u.stack, v)
	}
	return err
}

func (u *unpickler) pop() (any, error) {
	popped, err := u.popN(1)
	if err != nil {
		return nil, err
	}
	return popped[0], nil
}

func (u *unpickler) popN(n int) ([]any, error) {
	if len(u.stack) < n {
		return nil, fmt.Errorf("%w: the stack is empty", errPickle)
	}
	popped := u.stack[len(u.stack)-n:]
	u.stack = u.stack[:len(u.stack)-n]
	return popped, nil
}

// popMark takes what was pushed since the last mark.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if u.stack[i] == any(mark{}) {
			popped := u.stack[i+1:]
			u.stack = u.stack[:i]
			return popped, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no mark", errPickle)
}

func (u *unpickler) read(n int) ([]byte, error) {
	data := make([]byte, n)
	_, err := io.ReadFull(u.in, data)
	if err != nil {
		return nil, cut(err)
	}
	return data, nil
}

func (u *unpickler) skip(n uint64) error {
	if n > math.MaxInt64 {
		return cut(io.EOF)
	}
	if _, err := io.CopyN(io.Discard, u.in, int64(n)); err != nil {
		return cut(err)
	}
	return nil
}

// length reads how long the text or the bytes of an instruction are.
func (u *unpickler) length(code byte) (uint64, error) {
	size := 4
	switch code {
	case 0x8c, 'C', 'U':
		size = 1
	case 0x8d, 0x8e, 0x96:
		size = 8
	}
	return u.unsigned(size)
}

// unsigned reads a number of so many bytes.
func (u *unpickler) unsigned(size int) (uint64, error) {
	data, err := u.read(size)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(append(data, make([]byte, 8-size)...)), nil
}

func (u *unpickler) text(code byte) (any, error) {
	n, err := u.length(code)
	if err != nil {
		return nil, err
	}
	if n > maxPickledText {
		return opaque{}, u.skip(n)
	}
	data, err := u.read(int(n))
	return string(data), err
}

func (u *unpickler) pass(code byte) error {
	n, err := u.length(code)
	if err != nil {
		return err
	}
	return u.skip(n)
}

func (u *unpickler) number(code byte) (any, error) {
	switch code {
	case 'K':
		n, err := u.unsigned(1)
		return int64(n), err
	case 'M':
		n, err := u.unsigned(2)
		return int64(n), err
	case 'J':
		n, err := u.unsigned(4)
		return int64(int32(n)), err
	case 'G':
		data, err := u.read(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.BigEndian.Uint64(data)), nil
	}
	size, err := u.unsigned(1) // LONG1, in two's complement
	if err != nil {
		return nil, err
	}
	if size == 0 || size > 8 {
		return opaque{}, u.skip(size)
	}
	n, err := u.unsigned(int(size))
	shift := 64 - 8*size
	return int64(n<<shift) >> shift, err
}

func (u *unpickler) remember(code byte) error {
	at, size := uint64(len(u.memo)), 1
	if code == 'r' || code == 'j' {
		size = 4
	}
	if code != 0x94 {
		var err error
		if at, err = u.unsigned(size); err != nil {
			return err
		}
	}
	if code == 'h' || code == 'j' {
		v, ok := u.memo[uint32(at)]
		if !ok {
			return fmt.Errorf("%w: nothing is remembered as %d", errPickle, at)
		}
		return u.push(v, nil)
	}
	if len(u.stack) == 0 {
		return fmt.Errorf("%w: the stack is empty", errPickle)
	}
	u.memo[uint32(at)] = u.stack[len(u.stack)-1]
	return nil
}

// fill puts items into the collection below them.
func (u *unpickler) fill(code byte) error {
	var items []any
	var err error
	switch code {
	case 'a':
		items, err = u.popN(1)
	case 's':
		items, err = u.popN(2)
	default:
		items, err = u.popMark()
	}
	if err != nil {
		return err
	}
	if len(u.stack) == 0 {
		return fmt.Errorf("%w: there is no collection", errPickle)
	}
	dict, ok := u.stack[len(u.stack)-1].(pickledDict)
	if !ok || code != 's' && code != 'u' {
		return nil
	}
	for ; len(items) >= 2; items = items[2:] {
		if key, ok := items[0].(string); ok {
			dict[key] = items[1]
		}
	}
	return nil
}

func (u *unpickler) global(code byte) (any, error) {
	if code == 0x93 {
		names, err := u.popN(2)
		if err != nil {
			return nil, err
		}
		module, isText := names[0].(string)
		name, areTexts := names[1].(string)
		if !isText || !areTexts {
			return nil, fmt.Errorf("%w: a name is no text", errPickle)
		}
		return pickledClass(module + "." + name), nil
	}
	var names [2]string
	for i := range names {
		line, err := u.in.ReadSlice('\n')
		if err != nil {
			return nil, cut(err)
		}
		names[i] = strings.TrimSuffix(string(line), "\n")
	}
	return pickledClass(names[0] + "." + names[1]), nil
}

// make stands for what the instruction would make.
func (u *unpickler) make(code byte) error {
	count := 2
	if code == 0x92 {
		count = 3
	}
	operands, err := u.popN(count)
	if err != nil {
		return err
	}
	switch first := operands[0].(type) {
	case *pickledObject:
		if state, ok := operands[1].(pickledDict); ok && code == 'b' {
			first.state = state
		}
		return u.push(first, nil)
	case pickledClass:
		if code == 0x81 || code == 0x92 {
			return u.push(&pickledObject{class: first}, nil)
		}
	}
	return u.push(opaque{}, nil)
}
