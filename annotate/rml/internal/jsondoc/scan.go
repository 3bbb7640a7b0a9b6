package jsondoc

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// fault is a violation of the grammar or of a limit.
type fault struct {
	offset int
	reason string
}

// Eight bytes at a time: special marks the bytes of a word that end the plain
// run of a string: the quote, the backslash, controls and bytes above ASCII.
// The lowest mark is exact; marks above it may be false.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func special(w uint64) uint64 {
	return ((w - ones*0x20) | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones) | w) & highs
}

// scan reads the whole text onto the tape. It keeps no stack: an open
// container remembers its parent in its next field until it closes.
func (d *Document) scan(data []byte) ([]node, *fault) {
	var (
		tape     = d.tape[:0:min(cap(d.tape), d.maxNodes)]
		open     = uint32(noOpen) // the container being read
		inObject bool
		depth    int
		keyStart uint32
		keyEnd   uint32
		flags    uint8
		places   = d.shapes.places
		place    uint16 // of the object being read, in the tree of shapes
		i        int
	)
	if len(data) >= 3 && data[0] == 0xEF && data[1] == 0xBB && data[2] == 0xBF {
		i = 3
	}

value:
	if i < len(data) && data[i] <= ' ' {
		i = skipSpace(data, i)
	}
	if i >= len(data) {
		return tape, &fault{i, "unexpected end of input, expected a value"}
	}
	if len(tape) == cap(tape) {
		larger := grow(tape, data, i, d.maxNodes)
		if larger == nil {
			return tape, &fault{i, d.tooManyNodes()}
		}
		tape = larger
	}
	switch c := data[i]; c {
	case '"':
		i++
		start, own := i, flags
		i = plain(data, i)
		if i >= len(data) || data[i] != '"' {
			end, escaped, bad := scanString(data, i)
			if bad != nil {
				return tape, bad
			}
			if escaped {
				own |= escapedText
				d.escaped = append(d.escaped, decoded{node: input.Node(len(tape))})
			}
			i = end
		}
		tape = tape[:len(tape)+1]
		tape[len(tape)-1].set(uint32(start), uint32(i), keyStart, keyEnd, uint32(len(tape)), input.String, own)
		i++
		goto after

	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		start := i
		kind := input.Integer
		if c == '-' {
			i++
			if i >= len(data) || data[i]-'0' > 9 {
				return tape, &fault{i, "expected a digit after '-'"}
			}
			c = data[i]
		}
		i++
		if c == '0' {
			if i < len(data) && data[i]-'0' <= 9 {
				return tape, &fault{i, "a number must not begin with 0 and another digit"}
			}
		} else {
			for i < len(data) && data[i]-'0' <= 9 {
				i++
			}
		}
		if i < len(data) && data[i] == '.' {
			kind = input.Double
			i++
			if i >= len(data) || data[i]-'0' > 9 {
				return tape, &fault{i, "expected a digit after the decimal point"}
			}
			for i < len(data) && data[i]-'0' <= 9 {
				i++
			}
		}
		if i < len(data) && data[i]|0x20 == 'e' {
			kind = input.Double
			i++
			if i < len(data) && (data[i] == '+' || data[i] == '-') {
				i++
			}
			if i >= len(data) || data[i]-'0' > 9 {
				return tape, &fault{i, "expected a digit in the exponent"}
			}
			for i < len(data) && data[i]-'0' <= 9 {
				i++
			}
		}
		tape = tape[:len(tape)+1]
		tape[len(tape)-1].set(uint32(start), uint32(i), keyStart, keyEnd, uint32(len(tape)), kind, flags)
		goto after

	case '{', '[':
		depth++
		if depth > d.maxDepth {
			return tape, &fault{i, d.tooDeep()}
		}
		kind := input.Array
		if c == '{' {
			kind = input.Object
		}
		tape = tape[:len(tape)+1]
		tape[len(tape)-1].set(uint32(i), 0, keyStart, keyEnd, open, kind, flags)
		if open != noOpen {
			tape[open].class = place
		}
		open, place = uint32(len(tape)-1), 0
		keyStart = 0
		keyEnd = 0
		flags = 0
		i++
		if i < len(data) && data[i] <= ' ' {
			i = skipSpace(data, i)
		}
		inObject = c == '{'
		if inObject {
			if i < len(data) && data[i] == '}' {
				goto closing
			}
			goto key
		}
		if i < len(data) && data[i] == ']' {
			goto closing
		}
		goto value

	case 't', 'f', 'n':
		word, kind := "true", input.Boolean
		switch c {
		case 'f':
			word = "false"
		case 'n':
			word, kind = "null", input.Null
		}
		if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
			return tape, &fault{i, "invalid literal, expected " + word}
		}
		tape = tape[:len(tape)+1]
		tape[len(tape)-1].set(uint32(i), uint32(i+len(word)), keyStart, keyEnd, uint32(len(tape)), kind, flags)
		i += len(word)
		goto after

	default:
		return tape, &fault{i, "unexpected " + quoteByte(data, i) + ", expected a value"}
	}

key:
	if i >= len(data) || data[i] != '"' {
		if len(tape)-1 == int(open) {
			return tape, &fault{i, "unexpected " + quoteByte(data, i) + ", expected a member name in quotes or '}'"}
		}
		return tape, &fault{i, "unexpected " + quoteByte(data, i) + ", expected a member name in quotes after ','"}
	}
	i++
	keyStart = uint32(i)
	if place != unlearned {
		for next := places[place].follower; next != 0; next = places[next].sibling {
			if p := &places[next]; p.matches(data, i) {
				place, flags = next, p.flags
				i += int(p.length)
				goto named
			}
		}
	}
	flags = 0
	i = plain(data, i)
	if i >= len(data) || data[i] != '"' {
		end, escaped, bad := scanString(data, i)
		if bad != nil {
			return tape, bad
		}
		if escaped {
			flags = escapedKey
		}
		i = end
	}
	place = d.shapes.learn(place, data[keyStart:i], flags)
	places = d.shapes.places

named:
	keyEnd = uint32(i)
	i++
	if i < len(data) && data[i] <= ' ' {
		i = skipSpace(data, i)
	}
	if i >= len(data) || data[i] != ':' {
		return tape, &fault{i, "unexpected " + quoteByte(data, i) + ", expected ':' after the member name"}
	}
	i++
	goto value

after:
	if open == noOpen {
		i = skipSpace(data, i)
		if i < len(data) {
			return tape, &fault{i, "unexpected " + quoteByte(data, i) + " after the value"}
		}
		return tape, nil
	}
	if i < len(data) && data[i] <= ' ' {
		i = skipSpace(data, i)
	}
	if inObject {
		if i < len(data) {
			if data[i] == ',' {
				i++
				if i < len(data) && data[i] <= ' ' {
					i = skipSpace(data, i)
				}
				goto key
			}
			if data[i] == '}' {
				goto closing
			}
		}
		return tape, &fault{i, "unexpected " + quoteByte(data, i) + ", expected ',' or '}' after an object member"}
	}
	if i < len(data) {
		if data[i] == ',' {
			i++
			goto value
		}
		if data[i] == ']' {
			goto closing
		}
	}
	return tape, &fault{i, "unexpected " + quoteByte(data, i) + ", expected ',' or ']' after an array element"}

closing:
	i++
	depth--
	{
		n := &tape[open]
		n.end = uint32(i)
		if inObject {
			if n.class = d.shapes.class(place); n.class != 0 && len(tape)-1-int(open) == int(places[place].position) {
				n.flags |= flatObject
			}
		}
		open = n.next
		n.next = uint32(len(tape))
	}
	inObject = false
	if open != noOpen {
		n := &tape[open]
		inObject, place = n.kind == input.Object, n.class
	}
	keyStart = 0
	keyEnd = 0
	flags = 0
	goto after
}

// skipSpace returns the offset of the first byte from i on that is not white
// space.
func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// plain returns the offset of the first byte from i on that ends the plain
// run of a string, or an offset within the last 7 bytes before that.
func plain(data []byte, i int) int {
	for i+8 <= len(data) {
		if marks := special(binary.LittleEndian.Uint64(data[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)>>3
		}
		i += 8
	}
	return i
}

// scanString reads the rest of a string from i on, and returns the offset of
// its closing quote and whether it holds escapes.
func scanString(data []byte, i int) (end int, escaped bool, bad *fault) {
	for {
		for i+8 <= len(data) {
			marks := special(binary.LittleEndian.Uint64(data[i:]))
			if marks != 0 {
				i += bits.TrailingZeros64(marks) >> 3
				break
			}
			i += 8
		}
		if i >= len(data) {
			return 0, false, &fault{i, "unexpected end of input in a string"}
		}
		switch c := data[i]; {
		case c == '"':
			return i, escaped, nil
		case c == '\\':
			size, reason := checkEscape(data[i:])
			if size == 0 {
				return 0, false, &fault{i, reason}
			}
			escaped = true
			i += size
		case c < ' ':
			return 0, false, &fault{i, "control character " + quoteByte(data, i) + " in a string must be escaped"}
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size <= 1 {
				return 0, false, &fault{i, "invalid UTF-8 in a string"}
			}
			i += size
		}
	}
}

// checkEscape returns the length of the escape sequence that data begins with,
// a surrogate pair being one sequence, or 0 and the fault.
func checkEscape(data []byte) (size int, reason string) {
	if len(data) < 2 {
		return 0, "unexpected end of input in an escape sequence"
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, ""
	case 'u':
		unit, ok := hexUnit(data)
		if !ok {
			return 0, "expected four hexadecimal digits after \\u"
		}
		if unit < 0xD800 || unit > 0xDFFF {
			return 6, ""
		}
		if unit < 0xDC00 {
			if low, ok := hexUnit(data[6:]); ok && low >= 0xDC00 && low <= 0xDFFF {
				return 12, ""
			}
		}
		return 0, "surrogate escape without its other half"
	}
	return 0, "invalid escape sequence \\" + quoteByte(data, 1)
}

// hexUnit reads a \uXXXX escape at the start of data.
func hexUnit(data []byte) (unit rune, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	for _, c := range data[2:6] {
		switch {
		case c-'0' <= 9:
			unit = unit<<4 | rune(c-'0')
		case c|0x20-'a' <= 5 && c|0x20 >= 'a':
			unit = unit<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}
