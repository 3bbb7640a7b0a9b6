package rdf

import (
	"encoding/binary"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// AppendTerm appends t in the canonical form of N-Triples (RDF 1.2 N-Triples,
// section 4) and returns the extended slice: <iri>, _:label, "lexical",
// "lexical"@tag or "lexical"^^<datatype>. Nothing is appended for the zero Term.
//
// A character that no IRI may hold is written as a \u escape, so that a wrong
// IRI never becomes another statement; strict readers refuse it, [ParseTerm]
// included. Labels and language tags are written as they are.
func AppendTerm(dst []byte, t Term) []byte {
	switch t.Kind {
	case IRI:
		return appendIRI(dst, t.Value)
	case Blank:
		dst = append(dst, '_', ':')
		return append(dst, t.Value...)
	case Literal:
		dst = appendQuoted(dst, t.Value)
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

// AppendLiteral appends the lexical form in double quotes, escaped as the
// canonical form of N-Triples asks. Bytes that are not UTF-8 become U+FFFD.
// A language tag or datatype may be appended to the result.
func AppendLiteral(dst []byte, lexical []byte) []byte { return appendQuoted(dst, lexical) }

func appendIRI[T string | []byte](dst []byte, iri T) []byte {
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

func appendQuoted[T string | []byte](dst []byte, lexical T) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, lexical...)
	if n := plain(dst[start:]); start+n < len(dst) {
		dst = appendEscaped(dst[:start+n], lexical[n:])
	}
	return append(dst, '"')
}

// plain returns the number of leading bytes of b that are ASCII and need no
// escape. Where it can, it looks at eight bytes at once: each step sets the top
// bit of a lane when its byte is below 0x20, a quote, a backslash, DEL or not
// ASCII. A borrow between lanes can only raise a false alarm in a lane above a true one.
func plain(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		found := x | (x - ones*0x20) | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones) | ((x ^ ones*0x7F) - ones)
		if found&tops != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c >= utf8.RuneSelf || is(c, escaped) {
			break
		}
	}
	return i
}

func appendEscaped[T string | []byte](dst []byte, lexical T) []byte {
	for i := 0; i < len(lexical); {
		c := lexical[i]
		if c >= utf8.RuneSelf {
			r, size := decodeRune(lexical[i:])
			switch {
			case r == utf8.RuneError && size <= 1:
				dst = append(dst, "\uFFFD"...)
			case r == 0xFFFE:
				dst = append(dst, `\uFFFE`...)
			case r == 0xFFFF:
				dst = append(dst, `\uFFFF`...)
			default:
				dst = append(dst, lexical[i:i+size]...)
			}
			i += size
			continue
		}
		i++
		if !is(c, escaped) {
			dst = append(dst, c)
			continue
		}
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// decodeRune decodes the first character of a string or byte slice.
func decodeRune[T string | []byte](s T) (rune, int) {
	var head [utf8.UTFMax]byte
	n := copy(head[:], s[:min(len(s), utf8.UTFMax)])
	return utf8.DecodeRune(head[:n])
}
