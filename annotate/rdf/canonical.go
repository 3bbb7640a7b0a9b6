package rdf

import (
	"bytes"
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

// AppendLiteral appends the lexical form in double quotes, escaped as the
// canonical form of N-Triples asks. Bytes that are not UTF-8 become U+FFFD.
// A language tag or datatype may be appended to the result.
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

// plain reports whether all bytes of b are ASCII and need no escape. It looks at
// eight bytes at once, the last eight overlapping with those before.
func plain(b []byte) bool {
	n := len(b)
	if n < 8 {
		return suspicious(pack(b)) == 0
	}
	found := suspicious(binary.LittleEndian.Uint64(b[n-8:]))
	for ; len(b) > 8; b = b[8:] {
		found |= suspicious(binary.LittleEndian.Uint64(b))
	}
	return found == 0
}

// suspicious returns non-zero if one of the eight bytes in x is a control, a
// quote, a backslash, DEL or not ASCII: each term sets the top bit of such a lane.
// A borrow may set the bit of a lane above too, never without a true one below.
func suspicious(x uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (x | (x - ones*0x20) | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones) | ((x ^ ones*0x7F) - ones)) & tops
}

// pack loads fewer than eight bytes, some of them twice, and fills up with
// letters.
func pack(b []byte) uint64 {
	n := len(b)
	switch {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16 | 0x6161616161000000
	}
	return 0x6161616161616161
}

// escape replaces the raw text dst[start:] by its escaped form.
func escape(dst []byte, start int) []byte {
	raw := dst[start:]
	dst = appendEscaped(dst, raw)
	n := copy(dst[start:], dst[start+len(raw):])
	return dst[:start+n]
}

func appendEscaped(dst, raw []byte) []byte {
	done := 0
	for i := 0; i < len(raw); {
		c := raw[i]
		if c < utf8.RuneSelf && !is(c, escaped) {
			i++
			continue
		}
		size, with := 1, ""
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRune(raw[i:]); r < 0xFFFD || r > 0xFFFF || r == utf8.RuneError && size > 1 {
				i += size
				continue
			}
			switch r {
			case utf8.RuneError:
				with = "\uFFFD"
			case 0xFFFE:
				with = `\uFFFE`
			case 0xFFFF:
				with = `\uFFFF`
			}
		}
		dst = append(dst, raw[done:i]...)
		i += size
		done = i
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
			if with == "" {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			dst = append(dst, with...)
		}
	}
	return append(dst, raw[done:]...)
}

// lexicalEnd returns the offset behind the closing quote of a literal in
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
