package rdf

import "strings"

// class is a set of character classes that an ASCII byte belongs to.
type class uint16

const (
	escaped   class = 1 << iota // needs an escape in a literal
	forbidden                   // must not stand in an IRIREF
	alpha
	digit
	hex
	nameStart // PN_CHARS_BASE, "_"
	name      // PN_CHARS: nameStart, digits, "-"
	schemeTail
	wide   // part of a character beyond ASCII
	markup // cannot stand in XML as it is, or starts an escape
)

// classes gives the classes of every byte.
var classes = func() (t [256]class) {
	for c := range 0x80 {
		var k class
		lower := c | 0x20
		letter := lower >= 'a' && lower <= 'z'
		number := c >= '0' && c <= '9'
		if c < 0x20 || c == '"' || c == '\\' || c == 0x7F {
			k |= escaped
		}
		if c <= 0x20 {
			k |= forbidden
		}
		if letter {
			k |= alpha | nameStart | name | schemeTail
		}
		if number {
			k |= digit | hex | name | schemeTail
		}
		if lower >= 'a' && lower <= 'f' {
			k |= hex
		}
		if c < 0x20 || strings.ContainsRune(`<>&"\`, rune(c)) {
			k |= markup
		}
		switch c {
		case '<', '>', '"', '{', '}', '|', '^', '`', '\\':
			k |= forbidden
		case '_':
			k |= nameStart | name
		case '-':
			k |= name | schemeTail
		case '+', '.':
			k |= schemeTail
		}
		t[c] = k
	}
	for c := 0x80; c < 0x100; c++ {
		t[c] = wide
	}
	return t
}()

func is(c byte, k class) bool { return classes[c]&k != 0 }

// isNameStart reports whether a character beyond ASCII is in PN_CHARS_BASE.
func isNameStart(r rune) bool {
	switch {
	case r < 0xC0:
		return false
	case r <= 0x2FF:
		return r != 0xD7 && r != 0xF7
	case r <= 0x1FFF:
		return r >= 0x370 && r != 0x37E
	case r <= 0x218F:
		return r >= 0x2070 || r == 0x200C || r == 0x200D
	case r <= 0x2FEF:
		return r >= 0x2C00
	case r <= 0xD7FF:
		return r >= 0x3001
	case r <= 0xFDCF:
		return r >= 0xF900
	case r <= 0xFFFD:
		return r >= 0xFDF0
	}
	return r >= 0x10000 && r <= 0xEFFFF
}

// isName reports whether a character beyond ASCII is in PN_CHARS.
func isName(r rune) bool {
	return isNameStart(r) || r == 0xB7 || (r >= 0x300 && r <= 0x36F) || r == 0x203F || r == 0x2040
}
