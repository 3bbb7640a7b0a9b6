package xpath

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parser reads an expression without a separate list of tokens: whether a name is an operator
// depends on whether one is expected. After an error nothing is ahead.
type parser struct {
	src        string
	pos        int
	err        *Error
	namespaces map[string]string
	number     func(space, local string) int32
	compatible bool     // with XPath 1.0
	scope      []string // the variables in scope
	scopeSlots []int
	slots      int
	nesting    int
}

// fail sets the first error.
func (p *parser) fail(code, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{Code: code, Offset: p.pos, Reason: fmt.Sprintf(format, args...)}
	}
	p.pos = len(p.src)
}

// skip skips white space and comments.
func (p *parser) skip() {
	for p.pos < len(p.src) {
		switch {
		case strings.IndexByte(blanks, p.src[p.pos]) >= 0:
			p.pos++
		case strings.HasPrefix(p.src[p.pos:], "(:"):
			p.comment()
		default:
			return
		}
	}
}

// comment skips a comment, in which others may stand.
func (p *parser) comment() {
	start, open := p.pos, 0
	for p.pos < len(p.src) {
		switch rest := p.src[p.pos:]; {
		case strings.HasPrefix(rest, "(:"):
			open++
			p.pos += 2
		case strings.HasPrefix(rest, ":)"):
			open--
			p.pos += 2
			if open == 0 {
				return
			}
		default:
			p.pos++
		}
	}
	p.pos = start
	p.fail("XPST0003", "the comment is never closed")
}

// ahead returns the beginning of what comes next, for messages.
func (p *parser) ahead() string {
	rest := p.src[p.pos:]
	if len(rest) > 20 {
		rest = rest[:20]
	}
	return strings.ToValidUTF8(rest, "")
}

// is reports whether a mark comes next.
func (p *parser) is(mark string) bool {
	p.skip()
	return strings.HasPrefix(p.src[p.pos:], mark)
}

// take skips a mark if it comes next.
func (p *parser) take(mark string) bool {
	if !p.is(mark) {
		return false
	}
	p.pos += len(mark)
	return true
}

// expect skips a mark that must come next.
func (p *parser) expect(mark string) {
	if !p.take(mark) && p.err == nil {
		p.fail("XPST0003", "expected %s, found %q", mark, p.ahead())
	}
}

// isWord reports whether a word comes next, whole.
func (p *parser) isWord(word string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.src[p.pos:], word)
	return ok && nameLength(rest, false) == 0
}

// takeWord skips a word if it comes next.
func (p *parser) takeWord(word string) bool {
	if !p.isWord(word) {
		return false
	}
	p.pos += len(word)
	return true
}

// takeWords skips words if all come next.
func (p *parser) takeWords(words ...string) bool {
	start := p.pos
	for _, w := range words {
		if !p.takeWord(w) {
			p.pos = start
			return false
		}
	}
	return true
}

// expectWord skips a word that must come next.
func (p *parser) expectWord(word string) {
	if !p.takeWord(word) && p.err == nil {
		p.fail("XPST0003", "expected %s, found %q", word, p.ahead())
	}
}

// follows reports whether a mark comes after a word that comes next.
func (p *parser) follows(word, mark string) bool {
	start := p.pos
	found := p.takeWord(word) && p.is(mark)
	p.pos = start
	return found && p.err == nil
}

// nameLength returns the length of the NCName that a text begins with, or of the characters of one.
func nameLength(s string, whole bool) int {
	for i, r := range s {
		if r == utf8.RuneError || !nameRune(r) || (whole && i == 0 && !nameStart(r)) {
			return i
		}
	}
	return len(s)
}

// nameStart reports whether a rune may begin a name.
func nameStart(r rune) bool {
	return r == '_' || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r > 0xBF && r != 0xD7 && r != 0xF7 && !unicode.IsSpace(r) &&
		r != 0x37E && !(r >= 0x2000 && r <= 0x206F && r != 0x200C && r != 0x200D))
}

// nameRune reports whether a rune is allowed in a name.
func nameRune(r rune) bool {
	return nameStart(r) || (r >= '0' && r <= '9') || r == '-' || r == '.' || r == 0xB7 || r == 0x203F || r == 0x2040
}

// ncName reads a name without a colon, or returns an empty string.
func (p *parser) ncName() string {
	p.skip()
	n := nameLength(p.src[p.pos:], true)
	name := p.src[p.pos : p.pos+n]
	p.pos += n
	return name
}

// eqName is a name in an expression.
type eqName struct {
	prefix, local string
	space         string
	braced        bool // the namespace was written as Q{…}
}

// qualified reads a name, with a prefix or a namespace in braces if any. It leaves the namespace of a
// name without a prefix empty.
func (p *parser) qualified() (eqName, bool) {
	if p.is("Q{") {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			p.fail("XPST0003", "expected } after Q{")
			return eqName{}, false
		}
		space := strings.TrimSpace(p.src[p.pos+2 : p.pos+end])
		p.pos += end + 1
		n := nameLength(p.src[p.pos:], true)
		if n == 0 {
			if p.src[p.pos:] != "" && p.src[p.pos] == '*' {
				p.pos++
				return eqName{local: "*", space: space, braced: true}, true
			}
			p.fail("XPST0003", "expected a name after }")
			return eqName{}, false
		}
		p.pos += n
		return eqName{local: p.src[p.pos-n : p.pos], space: space, braced: true}, true
	}
	start := p.pos
	name := eqName{local: p.ncName()}
	if name.local == "" {
		return name, false
	}
	rest := p.src[p.pos:]
	if !strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":=") {
		return name, true
	}
	n := nameLength(rest[1:], true)
	if n == 0 && !strings.HasPrefix(rest, ":*") {
		return name, true
	}
	n = max(n, 1)
	name.prefix = name.local
	name.local = rest[1 : 1+n]
	space, known := p.namespaces[name.prefix]
	if !known {
		space, known = predeclared[name.prefix]
	}
	if !known {
		p.pos = start
		p.fail("XPST0081", "the prefix %q is not declared, only %s are", name.prefix, strings.Join(p.prefixes(), ", "))
		return name, false
	}
	name.space = space
	p.pos += 1 + n
	return name, true
}

// prefixes returns the prefixes that are declared.
func (p *parser) prefixes() []string {
	all := maps.Clone(predeclared)
	maps.Copy(all, p.namespaces)
	return slices.Sorted(maps.Keys(all))
}

// literal reads a quoted text; the quote is doubled within.
func (p *parser) literal() string {
	quote := p.src[p.pos]
	start := p.pos
	var text strings.Builder
	for p.pos++; p.pos < len(p.src); p.pos++ {
		if p.src[p.pos] != quote {
			text.WriteByte(p.src[p.pos])
			continue
		}
		if p.pos++; p.pos >= len(p.src) || p.src[p.pos] != quote {
			return text.String()
		}
		text.WriteByte(quote)
	}
	p.pos = start
	p.fail("XPST0003", "the quote is never closed")
	return ""
}

// numeral reads a number.
func (p *parser) numeral() expr {
	start, typ := p.pos, integer
	digits := func() {
		for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			p.pos++
		}
	}
	digits()
	if p.pos < len(p.src) && p.src[p.pos] == '.' && !strings.HasPrefix(p.src[p.pos:], "..") {
		typ = decimal
		p.pos++
		digits()
	}
	if rest := p.src[p.pos:]; rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		mark := p.pos
		p.pos++
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.pos++
		}
		before := p.pos
		if digits(); p.pos == before {
			p.pos = mark
		} else {
			typ = double
		}
	}
	text := p.src[start:p.pos]
	if nameLength(p.src[p.pos:], true) > 0 {
		p.fail("XPST0003", "expected white space after the number %s", text)
	}
	v, err := parseAtom(text, typ)
	if err != nil && p.compatible {
		v, err = parseAtom(text, double) // more digits than an integer or a decimal has
	}
	if err != nil {
		p.pos = start
		p.fail(err.Code, "%s", err.Reason)
	}
	return &constant{one(v)}
}
