package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const maxProtocol = 5

// The supported instructions, as Python's module pickletools names them.
const (
	opMark            = '('
	opStop            = '.'
	opPop             = '0'
	opPopMark         = '1'
	opFloat           = 'F'
	opInt             = 'I'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opLong            = 'L'
	opBinInt2         = 'M'
	opNone            = 'N'
	opReduce          = 'R'
	opUnicode         = 'V'
	opBinUnicode      = 'X'
	opAppend          = 'a'
	opBuild           = 'b'
	opGlobal          = 'c'
	opDict            = 'd'
	opAppends         = 'e'
	opGet             = 'g'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opList            = 'l'
	opPut             = 'p'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opTuple           = 't'
	opSetItems        = 'u'
	opEmptyDict       = '}'
	opEmptyList       = ']'
	opEmptyTuple      = ')'
	opBinFloat        = 'G'
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opProto           = 0x80
	opNewObj          = 0x81
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opLong1           = 0x8a
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95
	opByteArray8      = 0x96
)

const (
	maxStack = 1 << 16
	growth   = 8       // times the size of the pickle
	maxLine  = 1 << 10 // bytes of a number or a name in protocol 0
)

// machine runs the instructions of a pickle over values of this package. It
// keeps the first error.
type machine struct {
	data  []byte
	at    int // the next byte
	op    int // where the instruction began
	stack []any
	memo  map[uint64]any
	spent int // bytes of values that are not part of data
	err   error
}

func (m *machine) fail(format string, arguments ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: byte %d: %w", ErrRefused, m.op, fmt.Errorf(format, arguments...))
	}
}

// run returns the value of the pickle.
func (m *machine) run() (any, error) {
	m.memo = map[uint64]any{}
	for range MaxInstructions {
		m.op = m.at
		op := m.byte()
		if m.err == nil && op == opStop {
			value := m.pop()
			if m.err == nil && m.at < len(m.data) {
				m.fail("%d bytes follow the end", len(m.data)-m.at)
			}
			return value, m.err
		}
		if m.err == nil {
			m.step(op)
		}
		if len(m.stack) > maxStack {
			m.fail("more than %d values wait", maxStack)
		}
		if m.err != nil {
			return nil, m.err
		}
	}
	m.fail("more than %d instructions", MaxInstructions)
	return nil, m.err
}

// step runs an instruction.
func (m *machine) step(op byte) {
	switch op {
	case opProto:
		if version := m.byte(); version > maxProtocol {
			m.fail("protocol %d is not known", version)
		}
	case opFrame:
		m.take(8)
	case opMark:
		m.push(mark{})
	case opPop:
		m.pop()
	case opPopMark:
		m.popMark()
	case opNone:
		m.push(nil)
	case opNewTrue, opNewFalse:
		m.push(op == opNewTrue)
	case opPut, opBinPut, opLongBinPut, opMemoize, opGet, opBinGet, opLongBinGet:
		m.remember(op)
	case opInt, opLong, opFloat, opBinInt, opBinInt1, opBinInt2, opLong1, opBinFloat:
		m.number(op)
	case opUnicode, opBinUnicode, opShortBinUnicode, opBinUnicode8:
		m.text(op)
	case opBinBytes, opShortBinBytes, opBinBytes8, opByteArray8:
		width := map[byte]int{opShortBinBytes: 1, opBinBytes: 4, opBinBytes8: 8, opByteArray8: 8}[op]
		m.push(m.take(m.unsigned(width)))
	case opEmptyList, opList, opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3, opEmptyDict, opDict:
		m.collect(op)
	case opAppend, opAppends, opSetItem, opSetItems:
		m.extend(op)
	case opGlobal, opStackGlobal:
		m.global(op)
	case opReduce, opNewObj:
		m.make(op)
	case opBuild:
		m.build()
	default:
		m.fail("instruction 0x%02x is not known", op)
	}
}

func (m *machine) byte() byte {
	if taken := m.take(1); len(taken) == 1 {
		return taken[0]
	}
	return 0
}

// take returns the next bytes.
func (m *machine) take(n uint64) []byte {
	if m.err != nil || n > uint64(len(m.data)-m.at) {
		m.fail("the pickle is cut off")
		return nil
	}
	taken := m.data[m.at : m.at+int(n) : m.at+int(n)]
	m.at += int(n)
	return taken
}

// unsigned reads a little-endian number of n bytes.
func (m *machine) unsigned(width int) uint64 {
	var raw [8]byte
	copy(raw[:], m.take(uint64(width)))
	return binary.LittleEndian.Uint64(raw[:])
}

// line reads to the end of the line.
func (m *machine) line(most int) string {
	rest := m.data[m.at:]
	end := bytes.IndexByte(rest[:min(len(rest), most+1)], '\n')
	if end < 0 {
		m.fail("a line has no end within %d bytes", most)
		return ""
	}
	m.at += end + 1
	return string(rest[:end])
}

func (m *machine) push(value any) { m.stack = append(m.stack, value) }

// pop removes the last value, which is not a mark.
func (m *machine) pop() any {
	if len(m.stack) == 0 {
		m.fail("no value is there to be used")
		return nil
	}
	value := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	if _, ok := value.(mark); ok {
		m.fail("no value is there to be used after the mark")
	}
	return value
}

// popMark removes the last mark and the values above it.
func (m *machine) popMark() []any {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			values := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return values
		}
	}
	m.fail("no mark is there")
	return nil
}

// spend counts bytes of new values.
func (m *machine) spend(n int) bool {
	if m.spent += n; m.spent > growth*len(m.data) {
		m.fail("it would become more than %d times as large", growth)
	}
	return m.err == nil
}

// remember runs the instructions of the memo.
func (m *machine) remember(op byte) {
	var key uint64
	switch op {
	case opPut, opGet:
		key, _ = strconv.ParseUint(m.line(maxLine), 10, 64) // any other index does not exist
	case opBinPut, opBinGet:
		key = m.unsigned(1)
	case opLongBinPut, opLongBinGet:
		key = m.unsigned(4)
	case opMemoize:
		key = uint64(len(m.memo))
	}
	switch op {
	case opGet, opBinGet, opLongBinGet:
		value, ok := m.memo[key]
		if !ok {
			m.fail("nothing is remembered as %d", key)
		}
		m.push(value)
	default:
		value := m.pop()
		m.push(value)
		m.memo[key] = value
	}
}

// number runs the instructions for numbers.
func (m *machine) number(op byte) {
	switch op {
	case opBinInt:
		m.push(int64(int32(m.unsigned(4))))
	case opBinInt1:
		m.push(int64(m.unsigned(1)))
	case opBinInt2:
		m.push(int64(m.unsigned(2)))
	case opLong1:
		m.long(m.take(m.unsigned(1)))
	case opBinFloat:
		var raw [8]byte
		copy(raw[:], m.take(8))
		m.push(math.Float64frombits(binary.BigEndian.Uint64(raw[:])))
	case opFloat:
		v, err := strconv.ParseFloat(m.line(maxLine), 64)
		if err != nil {
			m.fail("a number is not read: %w", err)
		}
		m.push(v)
	case opInt, opLong:
		text := m.line(maxLine)
		if op == opInt && (text == "00" || text == "01") {
			m.push(text == "01")
			return
		}
		v, err := strconv.ParseInt(strings.TrimSuffix(text, "L"), 10, 64)
		if err != nil {
			m.fail("a whole number is not read: %w", err)
		}
		m.push(v)
	}
}

// long parses an integer in two's complement, little-endian.
func (m *machine) long(raw []byte) {
	if len(raw) > 8 {
		m.push(great{})
		return
	}
	var v int64
	for i, b := range raw {
		v |= int64(b) << (8 * i)
	}
	if n := len(raw); n > 0 && n < 8 && raw[n-1] >= 0x80 {
		v -= 1 << (8 * n)
	}
	m.push(v)
}

// text runs the instructions for texts.
func (m *machine) text(op byte) {
	switch op {
	case opUnicode:
		text := m.line(len(m.data))
		if !m.spend(len(text)) {
			return
		}
		plain, err := unescape(text)
		if err != nil {
			m.fail("a text is not read: %w", err)
		}
		m.push(plain)
	default:
		width := map[byte]int{opShortBinUnicode: 1, opBinUnicode: 4, opBinUnicode8: 8}[op]
		raw := m.take(m.unsigned(width))
		if m.spend(len(raw)) {
			m.push(string(raw))
		}
	}
}

// unescape decodes Python's raw-unicode-escape.
func unescape(text string) (string, error) {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		digits := 0
		if text[i] == '\\' && i+1 < len(text) {
			digits = map[byte]int{'u': 4, 'U': 8}[text[i+1]]
		}
		if digits == 0 {
			plain.WriteRune(rune(text[i])) // Latin-1
			continue
		}
		if i+2+digits > len(text) {
			return "", fmt.Errorf("the escape at %d is cut off", i)
		}
		code, err := strconv.ParseUint(text[i+2:i+2+digits], 16, 32)
		if err != nil || code > 0x10ffff {
			return "", fmt.Errorf("the escape at %d is none", i)
		}
		plain.WriteRune(rune(code))
		i += 1 + digits
	}
	return plain.String(), nil
}
