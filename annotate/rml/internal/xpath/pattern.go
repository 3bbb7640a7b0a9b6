package xpath

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// maxPattern is the longest regular expression in bytes.
	maxPattern = 4096
	// maxProgram is the size of the largest regular expression, with its repetitions written out.
	maxProgram = 8192
	// maxCaptures is the largest product of the size and the number of groups: matching may hold the
	// groups of each part of the program.
	maxCaptures = 1 << 17
	// maxTranslated is the most bytes of a regular expression after translation.
	maxTranslated = 1 << 16
)

// pattern is a compiled regular expression.
type pattern struct {
	of   *regexp.Regexp
	size int // of the program
}

// compilePattern translates a regular expression of XPath (section 5.6 of Functions and Operators)
// into one of Go.
func compilePattern(text, flags string) (*pattern, *Error) {
	if len(text) > maxPattern {
		return nil, &Error{Code: "limit", Offset: -1, Reason: fmt.Sprintf("the regular expression is longer than %d bytes", maxPattern)}
	}
	t := &translator{src: text}
	for _, f := range flags {
		switch f {
		case 's':
			t.dotAll = true
		case 'm':
			t.lines = true
		case 'i':
			t.fold = true
		case 'x':
			t.free = true
		case 'q':
			t.quote = true
		default:
			return nil, &Error{Code: "FORX0001", Offset: -1, Reason: fmt.Sprintf("the flag %q is not known: expected s, m, i, x or q", f)}
		}
	}
	if t.quote {
		t.out.WriteString(regexp.QuoteMeta(text))
	} else if t.translate(); t.reason != "" {
		return nil, &Error{Code: t.code, Offset: -1, Reason: fmt.Sprintf("the regular expression %.60q: %s", text, t.reason)}
	}
	source := t.out.String()
	if t.fold {
		source = "(?i:" + source + ")"
	}
	bad := func(reason string) (*pattern, *Error) {
		return nil, &Error{Code: "FORX0002", Offset: -1, Reason: fmt.Sprintf("the regular expression %.60q: %s", text, reason)}
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return bad(err.Error())
	}
	size := treeSize(tree)
	if size > maxProgram {
		return bad("its repetitions are too large")
	}
	if size*tree.MaxCap() > maxCaptures {
		return bad("it has too many groups for its size; write (?: for those that are not asked for")
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return bad(err.Error())
	}
	return &pattern{compiled, size}, nil
}

// treeSize estimates the size of the program, at most a little more than maxProgram.
func treeSize(r *syntax.Regexp) int {
	size := 1 + len(r.Rune)/8
	for _, sub := range r.Sub {
		size += treeSize(sub)
	}
	if r.Op == syntax.OpRepeat {
		size *= max(r.Min, r.Max, 1)
	}
	return min(size, 1<<20)
}

// translator rewrites a regular expression.
type translator struct {
	src                              string
	pos                              int
	out                              strings.Builder
	dotAll, lines, fold, free, quote bool
	groups                           int
	code, reason                     string
}

func (t *translator) fail(code, reason string) {
	if t.reason == "" {
		t.code = code
		t.reason = reason
	}
	t.pos = len(t.src)
}

// translate rewrites the whole expression.
func (t *translator) translate() {
	open := 0
	atom := false // whether something precedes that a quantifier can repeat
	for t.pos < len(t.src) {
		if t.out.Len() > maxTranslated {
			t.fail("limit", "it is too large")
			return
		}
		r, size := utf8.DecodeRuneInString(t.src[t.pos:])
		t.pos += size
		before := atom
		atom = true
		switch r {
		case ' ', '\t', '\n', '\r':
			if t.free {
				atom = before
				continue
			}
			t.out.WriteRune(r)
		case '.':
			t.out.WriteString(map[bool]string{false: `[^\n\r]`, true: `(?s:.)`}[t.dotAll])
		case '^', '$':
			t.out.WriteString(map[rune]map[bool]string{
				'^': {false: `\A`, true: `(?m:^)`}, '$': {false: `\z`, true: `(?m:$)`},
			}[r][t.lines])
			atom = false
		case '|':
			t.out.WriteByte('|')
			atom = false
		case '(':
			open++
			if atom = false; strings.HasPrefix(t.src[t.pos:], "?:") {
				t.pos += 2
				t.out.WriteString("(?:")
				continue
			}
			if strings.HasPrefix(t.src[t.pos:], "?") {
				t.fail("FORX0002", "after ( a question mark must have a colon after it")
			}
			t.groups++
			t.out.WriteByte('(')
		case ')':
			if open--; open < 0 {
				t.fail("FORX0002", "a parenthesis is closed that is not open")
			}
			t.out.WriteByte(')')
		case '*', '+', '?', '{':
			if !before {
				t.fail("FORX0002", "a quantifier has nothing to repeat")
			}
			t.quantifier(r)
			atom = false
		case '[':
			t.out.WriteString(rangesText(t.class()))
		case '\\':
			t.escape()
		case ']', '}':
			t.fail("FORX0002", string(r)+" must be written with a backslash before it")
		default:
			t.out.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	if open > 0 {
		t.fail("FORX0002", "a parenthesis is never closed")
	}
}

// quantifier writes a quantifier, lazy or not.
func (t *translator) quantifier(r rune) {
	text := string(r)
	if r == '{' {
		end := strings.IndexByte(t.src[t.pos:], '}')
		if end <= 0 || strings.Trim(t.src[t.pos:t.pos+end], "0123456789,") != "" || t.src[t.pos] == ',' ||
			strings.Count(t.src[t.pos:t.pos+end], ",") > 1 {
			t.fail("FORX0002", "expected {n}, {n,} or {n,m}")
			return
		}
		text += t.src[t.pos : t.pos+end+1]
		t.pos += end + 1
	}
	if strings.HasPrefix(t.src[t.pos:], "?") {
		t.pos++
		text += "?"
	}
	t.out.WriteString(text)
}

// escape writes what a backslash and what is after it stand for.
func (t *translator) escape() {
	if t.pos >= len(t.src) {
		t.fail("FORX0002", "it ends with a backslash")
		return
	}
	if c := t.src[t.pos]; c >= '0' && c <= '9' {
		t.fail("unsupported", "back-references such as \\1 are not supported, for they do not match in linear time")
		return
	}
	if inside := map[byte]string{'S': ` \t\n\r`, 'w': `\p{P}\p{Z}\p{C}`, 'I': initialChars, 'C': nameChars}[t.src[t.pos]]; inside != "" {
		t.pos++
		t.out.WriteString("[^" + inside + "]")
		return
	}
	if text := t.classEscape(); text != "" {
		t.out.WriteString("[" + text + "]")
	}
}

// nameChars are the characters of \i and, with those after them, of \c.
const (
	initialChars = `:A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}\x{2070}-\x{218F}` +
		`\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}`
	nameChars = initialChars + `\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}`
)

// blocks are the Unicode blocks that a regular expression may name, as ranges.
var blocks = map[string]string{
	"BasicLatin": `\x{0}-\x{7F}`, "Latin-1Supplement": `\x{80}-\x{FF}`, "LatinExtended-A": `\x{100}-\x{17F}`,
	"LatinExtended-B": `\x{180}-\x{24F}`, "Greek": `\x{370}-\x{3FF}`, "GreekandCoptic": `\x{370}-\x{3FF}`, "Cyrillic": `\x{400}-\x{4FF}`,
	"Hebrew": `\x{590}-\x{5FF}`, "Arabic": `\x{600}-\x{6FF}`, "Hiragana": `\x{3040}-\x{309F}`, "Katakana": `\x{30A0}-\x{30FF}`,
	"CJKUnifiedIdeographs": `\x{4E00}-\x{9FFF}`, "HangulSyllables": `\x{AC00}-\x{D7A3}`,
}

// classEscape reads what is after a backslash and returns it as the inside of a class.
func (t *translator) classEscape() string {
	c := t.src[t.pos]
	t.pos++
	switch c {
	case 'n', 'r', 't':
		return `\` + string(c)
	case 's':
		return ` \t\n\r`
	case 'S':
		return complement(` \t\n\r`)
	case 'd':
		return `\p{Nd}`
	case 'D':
		return `\P{Nd}`
	case 'w':
		return complement(`\p{P}\p{Z}\p{C}`)
	case 'W':
		return `\p{P}\p{Z}\p{C}`
	case 'i':
		return initialChars
	case 'I':
		return complement(initialChars)
	case 'c':
		return nameChars
	case 'C':
		return complement(nameChars)
	case 'p', 'P':
		return t.category(c)
	}
	if strings.IndexByte(`\|.?*+(){}-[]^$`, c) >= 0 {
		return `\` + string(c)
	}
	t.fail("FORX0002", `\`+string(rune(c))+" has no meaning")
	return ""
}

// category reads {…} after \p or \P.
func (t *translator) category(c byte) string {
	rest := t.src[t.pos:]
	end := strings.IndexByte(rest, '}')
	if !strings.HasPrefix(rest, "{") || end < 0 {
		t.fail("FORX0002", `expected { after \p`)
		return ""
	}
	name := rest[1:end]
	t.pos += end + 1
	if block, ok := strings.CutPrefix(name, "Is"); ok {
		ranges, known := blocks[block]
		switch {
		case !known:
			t.fail("unsupported", "the block "+block+" is not known here; write its characters as a range")
		case c == 'P':
			return complement(ranges)
		}
		return ranges
	}
	if _, err := syntax.Parse(`\p{`+name+`}`, syntax.Perl); err != nil || len(name) > 2 || name == "" {
		t.fail("FORX0002", "the category is not known: "+name)
		return ""
	}
	return `\` + string(c) + `{` + name + `}`
}

// complement returns all characters that the inside of a class does not have.
func complement(inside string) string {
	return strings.TrimSuffix(strings.TrimPrefix(rangesText(subtract([]rune{0, utf8.MaxRune}, classRanges(inside))), "["), "]")
}

// classRanges returns the ranges of the inside of a class of Go.
func classRanges(inside string) []rune {
	if inside == "" {
		return nil
	}
	tree, err := syntax.Parse("["+inside+"]", syntax.Perl|syntax.ClassNL)
	switch {
	case err != nil:
		return nil
	case tree.Op == syntax.OpCharClass:
		return tree.Rune
	case tree.Op == syntax.OpLiteral && len(tree.Rune) == 1:
		return []rune{tree.Rune[0], tree.Rune[0]}
	case tree.Op == syntax.OpAnyChar:
		return []rune{0, utf8.MaxRune}
	}
	return nil
}

// subtract removes ranges from others; both are sorted.
func subtract(from, without []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(from); i += 2 {
		low, high := from[i], from[i+1]
		for j := 0; j+1 < len(without) && low <= high; j += 2 {
			if without[j+1] < low {
				continue
			}
			if without[j] > high {
				break
			}
			if without[j] > low {
				out = append(out, low, without[j]-1)
			}
			low = without[j+1] + 1
		}
		if low <= high {
			out = append(out, low, high)
		}
	}
	return out
}

// rangesText writes ranges as a class of Go.
func rangesText(ranges []rune) string {
	if len(ranges) == 0 {
		return `[^\x{0}-\x{10FFFF}]`
	}
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i+1 < len(ranges); i += 2 {
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, ranges[i], ranges[i+1])
	}
	b.WriteByte(']')
	return b.String()
}

// class reads a character class after its bracket, with a class to subtract if any.
func (t *translator) class() []rune {
	negative := strings.HasPrefix(t.src[t.pos:], "^")
	if negative {
		t.pos++
	}
	var inside strings.Builder
	var without []rune
	for start := t.pos; ; {
		if t.pos >= len(t.src) {
			t.fail("FORX0002", "a bracket is never closed")
			return nil
		}
		if inside.Len() > maxTranslated {
			t.fail("limit", "it is too large")
			return nil
		}
		rest := t.src[t.pos:]
		switch {
		case rest[0] == ']':
			if t.pos == start {
				t.fail("FORX0002", "a class is empty")
				return nil
			}
			t.pos++
			ranges := classRanges(inside.String())
			if t.fold {
				ranges = foldRanges(inside.String())
			}
			if negative {
				ranges = subtract([]rune{0, utf8.MaxRune}, ranges)
			}
			return subtract(ranges, without)
		case strings.HasPrefix(rest, "-[") && t.pos > start:
			t.pos += 2
			if without = t.class(); !strings.HasPrefix(t.src[t.pos:], "]") {
				t.fail("FORX0002", "expected ] after the class that is subtracted")
				return nil
			}
		case rest[0] == '[':
			t.fail("FORX0002", "[ must be written with a backslash before it in a class")
			return nil
		default:
			t.classMember(&inside, t.pos == start)
		}
	}
}

// foldRanges returns the ranges of the inside of a class in both cases.
func foldRanges(inside string) []rune {
	tree, err := syntax.Parse("(?i:["+inside+"])", syntax.Perl|syntax.ClassNL)
	if err != nil || tree.Op != syntax.OpCharClass {
		ranges := classRanges(inside)
		if err == nil && tree.Op == syntax.OpLiteral {
			up, low := strings.ToUpper(string(tree.Rune)), strings.ToLower(string(tree.Rune))
			return classRanges(regexp.QuoteMeta(up) + regexp.QuoteMeta(low))
		}
		return ranges
	}
	return tree.Rune
}

// classMember reads a character, an escape or a range.
func (t *translator) classMember(inside *strings.Builder, first bool) {
	low, single := t.classChar()
	if t.reason != "" {
		return
	}
	inside.WriteString(low)
	rest := t.src[t.pos:]
	if !single || !strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "-[") || strings.HasPrefix(rest, "-]") {
		return
	}
	if low == `\x{2D}` && !first {
		t.fail("FORX0002", "a hyphen in the middle of a class must be written with a backslash before it")
		return
	}
	t.pos++
	high, single := t.classChar()
	if t.reason == "" && (!single || len(classRanges(low+"-"+high)) == 0) {
		t.fail("FORX0002", "a range in a class has no order")
	}
	inside.WriteString("-" + high)
}

// classChar reads one character of a class, or an escape of several.
func (t *translator) classChar() (text string, single bool) {
	if t.pos >= len(t.src) {
		t.fail("FORX0002", "a bracket is never closed")
		return "", false
	}
	r, size := utf8.DecodeRuneInString(t.src[t.pos:])
	t.pos += size
	if r != '\\' {
		return fmt.Sprintf(`\x{%X}`, r), true
	}
	if t.pos >= len(t.src) {
		t.fail("FORX0002", "it ends with a backslash")
		return "", false
	}
	several := strings.IndexByte("sSdDwWiIcCpP", t.src[t.pos]) >= 0
	return t.classEscape(), !several
}
