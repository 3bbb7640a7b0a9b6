package jsondoc

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPathNesting bounds how deep filters and parentheses may nest in an
// expression.
const maxPathNesting = 100

// Parse compiles a JSONPath query exactly as RFC 9535 defines it. The error
// is a *[PathError].
func Parse(expr string) (*Path, error) {
	return parsed(expr, (*parser).strict)
}

// parsed runs one of the grammars over an expression.
func parsed(expr string, grammar func(*parser) query) (p *Path, err error) {
	ps := parser{expr: expr}
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(*PathError)
			if !ok {
				panic(r)
			}
			p = nil
			err = bad
		}
	}()
	for i := 0; i < len(expr); {
		r, size := utf8.DecodeRuneInString(expr[i:])
		if r == utf8.RuneError && size <= 1 {
			ps.at = i
			ps.fail("invalid UTF-8")
		}
		i += size
	}
	q := grammar(&ps)
	return &Path{expr: expr, query: q, definite: ps.definite, tail: ps.tail}, nil
}

// parser is a recursive descent parser over one expression. fail panics with a
// *PathError, which parsed recovers.
type parser struct {
	expr    string
	at      int
	nesting int

	// Of a path of Jayway.
	definite, singleQuotes bool
	tail                   *tail
}

func (p *parser) fail(reason string) {
	panic(&PathError{Expr: p.expr, Offset: p.at, Reason: reason})
}

// expected fails with a message that names what was found instead.
func (p *parser) expected(what string) {
	if p.at >= len(p.expr) {
		p.fail("unexpected end, expected " + what)
	}
	r, _ := utf8.DecodeRuneInString(p.expr[p.at:])
	p.fail("unexpected " + strconv.QuoteRune(r) + ", expected " + what)
}

// peek returns the byte at the current place, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.expr) {
		return p.expr[p.at]
	}
	return 0
}

// take consumes the text if it is next.
func (p *parser) take(text string) bool {
	if strings.HasPrefix(p.expr[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

func (p *parser) space() {
	for p.at < len(p.expr) && strings.IndexByte(" \t\n\r", p.expr[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) deeper() {
	p.nesting++
	if p.nesting > maxPathNesting {
		p.fail("filters and parentheses nest deeper than " + strconv.Itoa(maxPathNesting))
	}
}

// strict parses a whole expression as jsonpath-query.
func (p *parser) strict() query {
	if !p.take("$") {
		p.expected("'$'")
	}
	q := p.segments(true)
	p.end()
	return q
}

func (p *parser) end() {
	if p.at < len(p.expr) {
		p.expected("'.', '[' or the end of the path")
	}
}

// segments parses what follows "$" or "@".
func (p *parser) segments(absolute bool) query {
	q := query{absolute: absolute, singular: true}
	for {
		before := p.at
		p.space()
		switch {
		case p.take(".."):
			q.add(p.afterDots(true))
		case p.take("."):
			q.add(p.afterDots(false))
		case p.peek() == '[':
			q.add(segment{selectors: p.brackets()})
		default:
			p.at = before
			return q
		}
	}
}

// add appends a segment.
func (q *query) add(s segment) {
	q.segments = append(q.segments, s)
	if s.descendant || len(s.selectors) > 1 || s.selectors[0].kind > selectIndex {
		q.singular = false
		q.steps = nil
	}
	if q.singular {
		q.steps = append(q.steps, s.selectors[0])
	}
}

// afterDots parses what follows "." or "..".
func (p *parser) afterDots(descendant bool) segment {
	s := segment{descendant: descendant}
	switch {
	case p.take("*"):
		s.selectors = []selector{{kind: selectWildcard}}
	case descendant && p.peek() == '[':
		s.selectors = p.brackets()
	default:
		start := p.at
		for p.at < len(p.expr) {
			c := p.expr[p.at]
			letter := c >= utf8.RuneSelf || c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z')
			if !letter && (p.at == start || c < '0' || c > '9') {
				break
			}
			p.at++
		}
		if p.at == start {
			p.expected("a member name or '*' after '.'; a name with other characters is written ['name']")
		}
		s.selectors = []selector{{kind: selectName, slot: -1, name: p.expr[start:p.at]}}
	}
	return s
}

// brackets parses a bracketed selection.
func (p *parser) brackets() []selector {
	p.at++
	var list []selector
	for {
		p.space()
		list = append(list, p.selector())
		p.space()
		if p.take("]") {
			return list
		}
		if !p.take(",") {
			p.expected("',' or ']'")
		}
	}
}

// selector parses one entry of a bracketed selection.
func (p *parser) selector() selector {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		return selector{kind: selectName, slot: -1, name: p.quoted()}
	case p.take("*"):
		return selector{kind: selectWildcard}
	case p.take("?"):
		p.space()
		return selector{kind: selectFilter, filter: p.or()}
	case c == ':' || c == '-' || (c >= '0' && c <= '9'):
		return p.indexOrSlice()
	}
	p.expected("a quoted name, an index, a slice, '*' or '?'")
	return selector{}
}

func (p *parser) indexOrSlice() selector {
	s := selector{kind: selectIndex, step: 1}
	if p.peek() != ':' {
		s.start = p.integer()
		s.hasStart = true
		before := p.at
		p.space()
		if p.peek() != ':' {
			p.at = before
			return s
		}
	}
	s.kind = selectSlice
	p.at++
	p.space()
	if c := p.peek(); c == '-' || (c >= '0' && c <= '9') {
		s.end = p.integer()
		s.hasEnd = true
		p.space()
	}
	if p.take(":") {
		p.space()
		if c := p.peek(); c == '-' || (c >= '0' && c <= '9') {
			s.step = p.integer()
		}
	}
	return s
}

// integer parses int of RFC 9535, which must be within the exact range of a
// double (RFC 7493 section 2.2).
func (p *parser) integer() int64 {
	start := p.at
	p.take("-")
	digits := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	text := p.expr[start:p.at]
	if p.at == digits {
		p.expected("a digit")
	}
	if p.expr[digits] == '0' && text != "0" {
		p.at = start
		p.fail("an index must not have leading zeros nor be -0")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > 1<<53-1 || n < -(1<<53-1) {
		p.at = start
		p.fail("number beyond the range of exact integers, ±(2^53-1)")
	}
	return n
}

// quoted parses a string literal in single or double quotes.
func (p *parser) quoted() string {
	quote := p.expr[p.at]
	p.at++
	var b strings.Builder
	for {
		if p.at >= len(p.expr) {
			p.expected("the closing " + string(quote))
		}
		switch c := p.expr[p.at]; {
		case c == quote:
			p.at++
			return b.String()
		case c == '\\':
			rest := p.expr[p.at:]
			if len(rest) > 1 && rest[1] == quote {
				b.WriteByte(quote)
				p.at += 2
				continue
			}
			if len(rest) > 1 && p.singleQuotes && (rest[1] == '"' || rest[1] == '\'') {
				b.WriteByte(rest[1])
				p.at += 2
				continue
			}
			if len(rest) > 1 && rest[1] == '"' {
				p.fail("invalid escape sequence \\\" in single quotes")
			}
			size, reason := checkEscape([]byte(rest))
			if size == 0 {
				p.fail(reason)
			}
			r, _ := unescapeOne([]byte(rest))
			b.WriteRune(r)
			p.at += size
		case c < ' ':
			p.fail("control character in a quoted name must be escaped")
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}
