package jsondoc

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// maxPattern is the longest pattern that is taken from a text.
	maxPattern = 1024
	// maxWeight bounds the weight of a pattern.
	maxWeight = 1 << 20
)

// pattern is a compiled I-Regexp (RFC 9485).
type pattern struct {
	source   string
	anchored bool
	// weight is its length with every repetition written out, roughly.
	weight int
	regexp *regexp.Regexp // nil when the source is not an I-Regexp
}

// pattern compiles an I-Regexp of the text. The last pattern is cached, because
// it is usually the same from node to node.
func (d *Document) pattern(source []byte, anchored bool) *pattern {
	last := &d.dynamic
	if last.weight != 0 && last.anchored == anchored && last.source == string(source) {
		return last
	}
	*last = pattern{}
	if len(source) <= maxPattern {
		t := translator{source: string(source)}
		if t.translate() && d.spend(compileCost(t.weight)) {
			*last = compilePattern(string(source), anchored)
		}
	}
	return last
}

// compileCost is the number of steps that compiling a pattern counts for.
func compileCost(weight int) int { return 1000 + 50*weight }

// compilePattern compiles an I-Regexp. It matches the whole text when anchored,
// else any part of it. A pattern with more than 1,000 repetitions of one part
// is not accepted.
func compilePattern(source string, anchored bool) pattern {
	t := translator{source: source}
	p := pattern{source: source, anchored: anchored}
	ok := t.translate()
	p.weight = t.weight
	if !ok {
		return p
	}
	translated := t.out.String()
	if anchored {
		translated = `\A(?:` + translated + `)\z`
	}
	if compiled, err := regexp.Compile(translated); err == nil {
		p.regexp = compiled
	}
	return p
}

// translator checks an I-Regexp against its grammar and rewrites it in the
// syntax of Go, whose anchors and classes it does not have.
type translator struct {
	source  string
	at      int
	nesting int
	weight  int
	out     strings.Builder
}

// translate translates the whole source and reports whether it is an I-Regexp.
func (t *translator) translate() bool {
	t.weight = len(t.source) + 1
	return t.branches() && t.at == len(t.source)
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
		if !t.repeats() {
			return false
		}
		if t.take(',') && t.peek() != '}' && !t.repeats() {
			return false
		}
		if !t.take('}') {
			return false
		}
		t.out.WriteString(t.source[start:t.at])
	}
	return true
}

// repeats reads a number of repetitions and adds it to the weight.
func (t *translator) repeats() bool {
	start, count := t.at, 0
	for c := t.peek(); c >= '0' && c <= '9'; c = t.peek() {
		count = min(count*10+int(c-'0'), maxWeight)
		t.at++
	}
	t.weight = min(t.weight*max(count, 1), maxWeight)
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
