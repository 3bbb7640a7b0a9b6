package rdf

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// AppendTerm appends t in the canonical form of RDF 1.2 N-Triples and returns the
// extended slice: <iri>, _:label, "lexical", "lexical"@tag or
// "lexical"^^<datatype>. Nothing is appended for the zero Term.
//
// A character that is not allowed in IRIs is written as a \u escape, so that an
// invalid IRI never becomes another statement; strict readers, including
// [ParseTerm], refuse it. Labels and language tags are written unchanged.
func AppendTerm(dst []byte, t Term) []byte {
	switch t.Kind {
	case IRI:
		return appendIRI(dst, t.Value)
	case Blank:
		dst = append(dst, '_', ':')
		return append(dst, t.Value...)
	case Literal:
		start := len(dst) + 1
		dst = append(dst, '"')
		dst = append(dst, t.Value...)
		if !plain(dst[start:]) {
			dst = escape(dst, start)
		}
		dst = append(dst, '"')
		if t.Lang != "" {
			dst = append(dst, '@')
			return append(dst, t.Lang...)
		}
		if t.Datatype != "" && t.Datatype != XSDString {
			dst = append(dst, '^', '^')
			return appendIRI(dst, t.Datatype)
		}
	}
	return dst
}

// AppendLiteral appends the lexical form in double quotes, escaped as in the
// canonical form of N-Triples. Bytes that are not UTF-8 become U+FFFD. A
// language tag or datatype may be appended to the result.
func AppendLiteral(dst []byte, lexical []byte) []byte {
	start := len(dst) + 1
	dst = append(dst, '"')
	dst = append(dst, lexical...)
	if !plain(dst[start:]) {
		dst = escape(dst, start)
	}
	return append(dst, '"')
}

func appendIRI(dst []byte, iri string) []byte {
	dst = append(dst, '<')
	done := 0
	for i := 0; i < len(iri); i++ {
		if c := iri[i]; is(c, forbidden) {
			dst = append(dst, iri[done:i]...)
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			done = i + 1
		}
	}
	dst = append(dst, iri[done:]...)
	return append(dst, '>')
}

// plain reports whether all bytes of b are ASCII and need no escape. It compares
// eight bytes at a time if there are enough, the last eight overlapping with those
// before.
func plain(b []byte) bool {
	if len(b) < 8 {
		found := class(0)
		for _, c := range b {
			found |= classes[c]
		}
		return found&(escaped|wide) == 0
	}
	found := suspicious(binary.LittleEndian.Uint64(b[len(b)-8:]))
	for ; len(b) > 8; b = b[8:] {
		found |= suspicious(binary.LittleEndian.Uint64(b))
	}
	return found == 0
}

// suspicious returns non-zero if one of the eight bytes in x is a control, a
// quote, a backslash, DEL or not ASCII: each term sets the top bit of such a lane.
// A carry may set the bit of a lane above too, never without a true one below.
func suspicious(x uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (x | (x - ones*0x20) | (x + ones) | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) & tops
}

// escape replaces the raw text dst[start:] by its escaped form. That is made
// after the raw text and then moved.
func escape(dst []byte, start int) []byte {
	start += unchanged(dst[start:])
	raw, end := dst[start:], len(dst)
	for len(raw) > 0 {
		var size int
		dst, size = appendEscape(dst, raw)
		n := size + unchanged(raw[size:])
		dst = append(dst, raw[size:n]...)
		raw = raw[n:]
	}
	n := copy(dst[start:], dst[end:])
	return dst[:start+n]
}

// unchanged returns the number of leading bytes that need no escape and no
// replacement.
func unchanged(b []byte) int {
	for i := 0; i < len(b); {
		if c := classes[b[i]]; c&wide == 0 {
			if c&escaped != 0 {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if size == 1 || r == 0xFFFE || r == 0xFFFF {
			return i
		}
		i += size
	}
	return len(b)
}

// appendEscape appends the escape of the first character of raw and returns the
// length of the character.
func appendEscape(dst, raw []byte) ([]byte, int) {
	c := raw[0]
	switch c {
	case '"', '\\':
		return append(dst, '\\', c), 1
	case '\b':
		return append(dst, '\\', 'b'), 1
	case '\t':
		return append(dst, '\\', 't'), 1
	case '\n':
		return append(dst, '\\', 'n'), 1
	case '\f':
		return append(dst, '\\', 'f'), 1
	case '\r':
		return append(dst, '\\', 'r'), 1
	}
	if c < utf8.RuneSelf {
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]), 1
	}
	switch r, size := utf8.DecodeRune(raw); r {
	case 0xFFFE:
		return append(dst, `\uFFFE`...), size
	case 0xFFFF:
		return append(dst, `\uFFFF`...), size
	default:
		return append(dst, "\uFFFD"...), size
	}
}

// lexicalEnd returns the offset after the closing quote of a literal in
// canonical form.
func lexicalEnd(term []byte) int {
	for i := 1; i < len(term); {
		n := bytes.IndexByte(term[i:], '"')
		if n < 0 {
			break
		}
		i += n + 1
		slashes := 0
		for term[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(term)
}
