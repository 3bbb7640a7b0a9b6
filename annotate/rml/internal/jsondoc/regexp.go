package jsondoc

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// maxPattern is the longest pattern that is taken from a message.
	maxPattern = 1024
	// compileCost is the number of steps that compiling a pattern counts for.
	compileCost = 2048
)

// dynamicRegexp is the last pattern that came out of a message.
type dynamicRegexp struct {
	source   string
	known    bool
	anchored bool
	compiled *regexp.Regexp
}

// regexp compiles a pattern of the message, nil when it is no I-Regexp. The
// last one is remembered, because a pattern mostly stays the same from node
// to node.
func (d *Document) regexp(source []byte, anchored bool) *regexp.Regexp {
	if len(source) > maxPattern {
		return nil
	}
	last := &d.pattern
	if !last.known || last.anchored != anchored || last.source != string(source) {
		if !d.spend(compileCost) {
			return nil
		}
		*last = dynamicRegexp{string(source), true, anchored, compileRegexp(string(source), anchored)}
	}
	return last.compiled
}

// compileRegexp compiles an I-Regexp (RFC 9485), nil when it is none or
// repeats something more than 1,000 times. The pattern matches the whole text
// when anchored, else any part of it.
func compileRegexp(source string, anchored bool) *regexp.Regexp {
	t := translator{source: source}
	if !t.branches() || t.at != len(source) {
		return nil
	}
	pattern := t.out.String()
	if anchored {
		pattern = `\A(?:` + pattern + `)\z`
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	return compiled
}

// translator checks an I-Regexp against its grammar and rewrites it in the
// syntax of Go, whose anchors and classes it does not have.
type translator struct {
	source  string
	at      int
	nesting int
	out     strings.Builder
}

func (t *translator) peek() byte {
	if t.at < len(t.source) {
		return t.source[t.at]
	}
	return 0
}

func (t *translator) take(c byte) bool {
	if t.at < len(t.source) && t.source[t.at] == c {
		t.at++
		return true
	}
	return false
}

// branches translates i-regexp: branches between "|".
func (t *translator) branches() bool {
	for {
		for t.at < len(t.source) && t.source[t.at] != '|' && t.source[t.at] != ')' {
			if !t.atom() || !t.quantifier() {
				return false
			}
		}
		if !t.take('|') {
			return true
		}
		t.out.WriteByte('|')
	}
}

func (t *translator) atom() bool {
	switch c := t.peek(); c {
	case '(':
		if t.nesting++; t.nesting > maxPathNesting {
			return false
		}
		t.at++
		t.out.WriteString("(?:")
		if !t.branches() || !t.take(')') {
			return false
		}
		t.nesting--
		t.out.WriteByte(')')
		return true
	case '.':
		t.at++
		t.out.WriteString(`[^\n\r]`)
		return true
	case '[':
		return t.class()
	case '\\':
		return t.escape()
	case '*', '+', '?', '{', '}', ']', ')', '|':
		return false
	case '^', '$': // the grammar has them as plain characters, but implementations agree on anchors
		t.at++
		t.out.WriteByte(c)
		return true
	}
	t.literal()
	return true
}

// literal copies one character that means itself.
func (t *translator) literal() {
	_, size := utf8.DecodeRuneInString(t.source[t.at:])
	t.out.WriteString(regexp.QuoteMeta(t.source[t.at : t.at+size]))
	t.at += size
}

func (t *translator) quantifier() bool {
	switch c := t.peek(); c {
	case '*', '+', '?':
		t.at++
		t.out.WriteByte(c)
	case '{':
		start := t.at
		t.at++
		if !t.digits() {
			return false
		}
		if t.take(',') && t.peek() != '}' && !t.digits() {
			return false
		}
		if !t.take('}') {
			return false
		}
		t.out.WriteString(t.source[start:t.at])
	}
	return true
}

func (t *translator) digits() bool {
	start := t.at
	for c := t.peek(); c >= '0' && c <= '9'; c = t.peek() {
		t.at++
	}
	return t.at > start
}

// escape translates SingleCharEsc, charClassEsc and their complements.
func (t *translator) escape() bool {
	t.at++
	switch c := t.peek(); {
	case c == 'p' || c == 'P':
		return t.category()
	case c == 'n' || c == 'r' || c == 't':
		t.out.WriteString(`\` + string(c))
	case strings.IndexByte(`()*+-.?[\]^{|}`, c) >= 0 && c != 0:
		t.out.WriteString(`\` + string(c))
	default:
		return false
	}
	t.at++
	return true
}

// category translates \p{Lu} and \P{Lu}.
func (t *translator) category() bool {
	start := t.at - 1
	t.at++
	if !t.take('{') {
		return false
	}
	name := t.at
	for t.at < len(t.source) && t.source[t.at] != '}' {
		t.at++
	}
	major, minor := byte(0), t.source[name:t.at]
	if minor != "" {
		major, minor = minor[0], minor[1:]
	}
	var minors string
	switch major {
	case 'L':
		minors = "lmotu"
	case 'M':
		minors = "cen"
	case 'N':
		minors = "dlo"
	case 'P':
		minors = "cdefios"
	case 'Z':
		minors = "lps"
	case 'S':
		minors = "ckmo"
	case 'C':
		minors = "cfno"
	default:
		return false
	}
	if len(minor) > 1 || !strings.Contains(minors, minor) || !t.take('}') {
		return false
	}
	t.out.WriteString(t.source[start:t.at])
	return true
}

// class translates a bracketed character class.
func (t *translator) class() bool {
	t.at++
	t.out.WriteByte('[')
	if t.take('^') {
		t.out.WriteByte('^')
	}
	if t.take('-') {
		t.out.WriteString(`\-`)
	} else if !t.classEntry() {
		return false
	}
	for t.at < len(t.source) && t.source[t.at] != ']' {
		if t.source[t.at] == '-' {
			t.at++
			t.out.WriteString(`\-`)
			break
		}
		if !t.classEntry() {
			return false
		}
	}
	t.out.WriteByte(']')
	return t.take(']')
}

// classEntry translates a character, a range or a category within a class.
func (t *translator) classEntry() bool {
	if t.peek() == '\\' && t.at+1 < len(t.source) && t.source[t.at+1]|0x20 == 'p' {
		t.at++
		return t.category()
	}
	if !t.classCharacter() {
		return false
	}
	if t.peek() != '-' || (t.at+1 < len(t.source) && t.source[t.at+1] == ']') {
		return true
	}
	t.at++
	t.out.WriteByte('-')
	return t.classCharacter()
}

func (t *translator) classCharacter() bool {
	switch c := t.peek(); c {
	case '\\':
		return t.escape()
	case '[', ']', '-':
		return false
	case 0:
		if t.at >= len(t.source) {
			return false
		}
	case '^', '&', '~', ':':
		t.at++
		t.out.WriteString(`\` + string(c))
		return true
	}
	t.literal()
	return true
}
