package rdf

import (
	"bytes"
	"unicode/utf8"
)

// The methods here read one token each, at the position, and pass it. The bytes
// they return are valid until the next call.

// iriRef reads an IRIREF and returns what stands between < and >, unescaped.
func (s *scanner) iriRef() ([]byte, error) {
	n, found := 1, class(0)
	for s.at(n) != '>' {
		if s.at(n) < 0 {
			return nil, s.fail(n, "the input ends within an IRI")
		}
		rest := s.buf[s.pos+n : s.end]
		if end := bytes.IndexByte(rest, '>'); end >= 0 {
			rest = rest[:end]
		}
		for _, c := range rest {
			found |= classes[c]
		}
		if found&forbidden != 0 {
			for i, c := range rest {
				if is(c, forbidden) && c != '\\' {
					r, _ := s.rune(n + i)
					return nil, s.fail(n+i, "%q within an IRI", r)
				}
			}
		}
		n += len(rest)
	}
	raw := s.buf[s.pos+1 : s.pos+n]
	if found&wide != 0 && !utf8.Valid(raw) {
		return nil, s.fail(0, "IRI that is not UTF-8")
	}
	if found&forbidden != 0 { // then it holds a backslash
		var err error
		if raw, err = s.unescape(raw, 1, true); err != nil {
			return nil, err
		}
	}
	s.pos += n + 1
	return raw, nil
}

// quoted reads a string in single or double quotes and returns its lexical form.
// Strings in three quotes are taken only where long is true.
func (s *scanner) quoted(long bool) ([]byte, error) {
	quote := byte(s.at(0))
	if s.at(1) == int(quote) {
		if !long || s.at(2) != int(quote) {
			s.pos += 2
			return nil, nil
		}
		return s.longQuoted(quote)
	}
	n := 1
	escapes := false
	high := byte(0)
	for {
		for _, c := range s.buf[s.pos+n : s.end] {
			if c == quote || c == '\\' || c == '\n' || c == '\r' {
				break
			}
			high |= c
			n++
		}
		switch c := s.at(n); {
		case c == int(quote):
			return s.lexical(1, n, 1, escapes, high)
		case c == '\\':
			escapes = true
			n++
			if c = s.at(n); c == '"' || c == '\'' || c == '\\' {
				n++
			}
		case c < 0:
			return nil, s.fail(n, "the input ends within a string")
		case c == '\n' || c == '\r':
			return nil, s.fail(n, "line break within a string")
		}
	}
}

func (s *scanner) longQuoted(quote byte) ([]byte, error) {
	n := 3
	escapes := false
	high := byte(0)
	for {
		for _, c := range s.buf[s.pos+n : s.end] {
			if c == quote || c == '\\' {
				break
			}
			high |= c
			n++
		}
		switch c := s.at(n); {
		case c == int(quote):
			if s.at(n+1) == int(quote) && s.at(n+2) == int(quote) {
				return s.lexical(3, n, 3, escapes, high)
			}
			n++
		case c == '\\':
			escapes = true
			n++
			if c = s.at(n); c == '"' || c == '\'' || c == '\\' {
				n++
			}
		case c < 0:
			return nil, s.fail(n, "the input ends within a string")
		}
	}
}

// lexical passes a string whose text stands between the offsets from and to, and
// whose closing quotes are as many.
func (s *scanner) lexical(from, to, quotes int, escapes bool, high byte) ([]byte, error) {
	raw := s.buf[s.pos+from : s.pos+to]
	if high >= utf8.RuneSelf && !utf8.Valid(raw) {
		return nil, s.fail(0, "string that is not UTF-8")
	}
	text := raw
	if escapes {
		var err error
		if text, err = s.unescape(raw, from, false); err != nil {
			return nil, err
		}
	}
	if quotes == 3 {
		for i, c := range raw {
			if c == '\n' {
				s.newline(from + i + 1)
			}
		}
	}
	s.pos += to + quotes
	return text, nil
}

// unescape replaces the escapes of a string or an IRI that starts n bytes after
// the position.
func (s *scanner) unescape(raw []byte, n int, iri bool) ([]byte, error) {
	out := s.scratch[:0]
	for i := 0; i < len(raw); {
		next := bytes.IndexByte(raw[i:], '\\')
		if next < 0 {
			out = append(out, raw[i:]...)
			break
		}
		out = append(out, raw[i:i+next]...)
		i += next
		r, size := unescapeOne(raw[i:], iri)
		if size == 0 {
			return nil, s.fail(n+i, "wrong escape")
		}
		if iri && r < 0x80 && is(byte(r), forbidden) {
			return nil, s.fail(n+i, "%q within an IRI", r)
		}
		out = utf8.AppendRune(out, r)
		i += size
	}
	s.scratch = out
	return out, nil
}

// unescapeOne decodes the escape at the start of b; its size is 0 if it is wrong.
func unescapeOne(b []byte, numericOnly bool) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	size := 0
	switch b[1] {
	case 'u':
		size = 6
	case 'U':
		size = 10
	}
	if size == 0 {
		at := bytes.IndexByte([]byte(`tbnrf"'\`), b[1])
		if at < 0 || numericOnly {
			return 0, 0
		}
		return rune("\t\b\n\r\f\"'\\"[at]), 2
	}
	if len(b) < size {
		return 0, 0
	}
	var r uint32
	for _, c := range b[2:size] {
		if !is(c, hex) {
			return 0, 0
		}
		d := c & 15
		if c > '9' {
			d += 9
		}
		r = r<<4 | uint32(d)
	}
	if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
		return 0, 0
	}
	return rune(r), size
}

// nameEnd returns how far from n on the characters of names reach, with the dots
// and, optionally, colons among them, but without dots at the end.
func (s *scanner) nameEnd(n int, colons bool) int {
	end := n
	for {
		c := s.at(n)
		switch {
		case c >= 0 && c < utf8.RuneSelf:
			if c == '.' {
				n++
				continue
			}
			if !is(byte(c), name) && (c != ':' || !colons) {
				return end
			}
			n++
		case c < 0:
			return end
		default:
			r, size := s.rune(n)
			if !isName(r) || size == 1 {
				return end
			}
			n += size
		}
		end = n
	}
}

// startsName reports whether a name can start n after the position: a character
// of PN_CHARS_BASE.
func (s *scanner) startsName(n int) bool {
	r, size := s.rune(n)
	if r < utf8.RuneSelf {
		return is(byte(r), alpha)
	}
	return size > 1 && isNameStart(r)
}

// label reads a blank node label and returns it without "_:".
func (s *scanner) label() ([]byte, error) {
	if s.at(1) != ':' {
		return nil, s.fail(1, "\"_\" that starts no blank node label")
	}
	c := s.at(2)
	if first := c >= 0 && c < utf8.RuneSelf && is(byte(c), nameStart|digit); !first && !s.startsName(2) {
		return nil, s.fail(2, "blank node without a label")
	}
	_, size := s.rune(2)
	end := s.nameEnd(2+size, false)
	label := s.buf[s.pos+2 : s.pos+end]
	s.pos += end
	return label, nil
}

// langTag reads "@" and a language tag and returns the tag.
func (s *scanner) langTag() ([]byte, error) {
	n := 1
	for want := alpha; ; want = alpha | digit {
		start := n
		for c := s.at(n); c >= 0 && is(byte(c), want); c = s.at(n) {
			n++
		}
		if n == start {
			return nil, s.fail(n, "language tag that is not one")
		}
		if s.at(n) != '-' {
			break
		}
		n++
	}
	tag := s.buf[s.pos+1 : s.pos+n]
	s.pos += n
	return tag, nil
}

// number reads a number of Turtle and returns it with its datatype.
func (s *scanner) number() ([]byte, string, error) {
	n := 0
	if c := s.at(0); c == '+' || c == '-' {
		n++
	}
	whole := s.digits(n)
	end, datatype := whole, XSDInteger
	if s.at(whole) == '.' {
		fraction := s.digits(whole + 1)
		if fraction > whole+1 {
			end, datatype = fraction, XSDDecimal
		}
		if whole > n || fraction > whole+1 {
			if e := s.exponent(fraction); e > 0 {
				end, datatype = e, XSDDouble
			}
		}
	} else if e := s.exponent(whole); whole > n && e > 0 {
		end, datatype = e, XSDDouble
	}
	if end == n {
		return nil, "", s.fail(n, "number without digits")
	}
	text := s.buf[s.pos : s.pos+end]
	s.pos += end
	return text, datatype, nil
}

func (s *scanner) digits(n int) int {
	for c := s.at(n); c >= '0' && c <= '9'; c = s.at(n) {
		n++
	}
	return n
}

// exponent returns where an exponent that starts at n ends, or 0 if none does.
func (s *scanner) exponent(n int) int {
	if c := s.at(n); c != 'e' && c != 'E' {
		return 0
	}
	n++
	if c := s.at(n); c == '+' || c == '-' {
		n++
	}
	if end := s.digits(n); end > n {
		return end
	}
	return 0
}
