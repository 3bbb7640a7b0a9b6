package xmldoc

import (
	"encoding/binary"
	"unicode/utf8"
)

// The classes of bytes that the scanner stops at or skips.
const (
	inName    = 1 << iota // continues a name
	plainName             // the same, but for colons and bytes beyond ASCII
	startName             // begins a name
	space                 // S, production 3
	stopText              // ends a run of plain character data
	stopQuot              // ends a run of plain text between double quotes
	stopApos              // ends a run of plain text between single quotes
)

// class has the classes of each byte. Bytes beyond ASCII count as parts of
// names here; names with such bytes are checked again by character.
var class = func() (t [256]uint8) {
	for b := range t {
		switch c := byte(b); {
		case (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || c >= 0x80:
			t[b] = startName | inName
		case (c >= '0' && c <= '9') || c == '-' || c == '.':
			t[b] = inName
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			t[b] = space
		}
	}
	for b := range utf8.RuneSelf {
		if t[b]&inName != 0 && b != ':' {
			t[b] |= plainName
		}
	}
	for _, b := range []byte("<&\r]") {
		t[b] |= stopText
	}
	for _, b := range []byte("<&\r\n\t") {
		t[b] |= stopQuot | stopApos
	}
	t['"'] |= stopQuot
	t['\''] |= stopApos
	return t
}()

// isChar reports whether r may occur in XML 1.0 (production 2).
func isChar(r rune) bool {
	return (r >= 0x20 && r <= 0xD7FF) || r == '\t' || r == '\n' || r == '\r' ||
		(r >= 0xE000 && r <= 0xFFFD) || (r >= 0x10000 && r <= 0x10FFFF)
}

// isNameStart reports whether r may begin a name (production 4).
func isNameStart(r rune) bool {
	if r < 0x80 {
		return class[r]&startName != 0
	}
	return (r >= 0xC0 && r <= 0x2FF && r != 0xD7 && r != 0xF7) || (r >= 0x370 && r <= 0x1FFF && r != 0x37E) ||
		r == 0x200C || r == 0x200D || (r >= 0x2070 && r <= 0x218F) || (r >= 0x2C00 && r <= 0x2FEF) ||
		(r >= 0x3001 && r <= 0xD7FF) || (r >= 0xF900 && r <= 0xFDCF) || (r >= 0xFDF0 && r <= 0xFFFD) ||
		(r >= 0x10000 && r <= 0xEFFFF)
}

// isNameChar reports whether r may continue a name (production 4a).
func isNameChar(r rune) bool {
	if r < 0x80 {
		return class[r]&inName != 0
	}
	return isNameStart(r) || r == 0xB7 || (r >= 0x300 && r <= 0x36F) || r == 0x203F || r == 0x2040
}

// isName reports whether text is a name, colons allowed (production 5).
func isName(text []byte) bool {
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		if (i == 0 && !isNameStart(r)) || !isNameChar(r) {
			return false
		}
		i += n
	}
	return len(text) > 0
}

// illegal returns the offset of the first character that XML does not allow, or
// -1. Plain ASCII is checked eight bytes at a time.
func illegal(data []byte) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for i := 0; i < len(data); {
		if i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			if (w|(w-0x20*each))&high == 0 {
				i += 8
				continue
			}
		}
		end := min(i+8, len(data))
		for i < end {
			b := data[i]
			if b < utf8.RuneSelf {
				if b < 0x20 && class[b]&space == 0 {
					return i
				}
				i++
				continue
			}
			r, n := utf8.DecodeRune(data[i:])
			if (r == utf8.RuneError && n == 1) || !isChar(r) {
				return i
			}
			i += n
		}
	}
	return -1
}
