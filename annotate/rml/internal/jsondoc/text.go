package jsondoc

import (
	"fmt"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// decoded is where the text of a string with escapes was put in the scratch
// buffer. Strings are decoded on first use, once for each load.
type decoded struct {
	node       input.Node
	ready      bool
	start, end int
}

// text returns the content of a scalar, escapes resolved, and the source text
// of an object or array.
func (d *Document) text(n input.Node) []byte {
	t := &d.tape[n]
	if t.flags&escapedText == 0 {
		return d.data[t.start:t.end:t.end]
	}
	at := sort.Search(len(d.escaped), func(i int) bool { return d.escaped[i].node >= n })
	e := &d.escaped[at]
	if !e.ready {
		e.start = len(d.scratch)
		d.scratch = unescape(d.scratch, d.data[t.start:t.end])
		e.end = len(d.scratch)
		e.ready = true
	}
	return d.scratch[e.start:e.end:e.end]
}

// unescape appends the text of a checked string to dst.
func unescape(dst, source []byte) []byte {
	for i := 0; i < len(source); {
		c := source[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := unescapeOne(source[i:])
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}

// unescapeOne returns the character of a checked escape sequence and the
// length of the sequence.
func unescapeOne(source []byte) (rune, int) {
	switch c := source[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		unit, _ := hexUnit(source)
		if utf16.IsSurrogate(unit) {
			low, _ := hexUnit(source[6:])
			return utf16.DecodeRune(unit, low), 12
		}
		return unit, 6
	default:
		return rune(c), 2
	}
}

// hasKey reports whether the member n has the name, which is given decoded.
func (d *Document) hasKey(t *node, name string) bool {
	if t.flags&escapedKey == 0 {
		return int(t.keyEnd-t.keyStart) == len(name) && string(d.data[t.keyStart:t.keyEnd]) == name
	}
	source := d.data[t.keyStart:t.keyEnd]
	at := 0
	for i := 0; i < len(source); {
		if source[i] != '\\' {
			if at >= len(name) || name[at] != source[i] {
				return false
			}
			at, i = at+1, i+1
			continue
		}
		r, size := unescapeOne(source[i:])
		have, width := utf8.DecodeRuneInString(name[at:])
		if at >= len(name) || have != r {
			return false
		}
		at, i = at+width, i+size
	}
	return at == len(name)
}

// key returns the decoded member name of a member.
func (d *Document) key(t *node) []byte {
	source := d.data[t.keyStart:t.keyEnd]
	if t.flags&escapedKey == 0 {
		return source
	}
	return unescape(nil, source)
}

// quoteByte describes the byte at i for an error message.
func quoteByte(data []byte, i int) string {
	if i >= len(data) {
		return "end of input"
	}
	if r, size := utf8.DecodeRune(data[i:]); r != utf8.RuneError || size > 1 {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("byte 0x%02X", data[i])
}
