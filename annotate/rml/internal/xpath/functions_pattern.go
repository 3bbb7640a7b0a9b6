package xpath

import (
	"strings"
)

// patternFunctions are the functions with regular expressions (section 5.6 of Functions and Operators).
func patternFunctions() map[string]function {
	return map[string]function{
		"matches":  def("s? s | s", dynamicPattern),
		"replace":  def("s? s s | s", dynamicPattern),
		"tokenize": def("s? | s s", dynamicPattern),
	}
}

// dynamicPattern stands for functions that evaluation.withPattern evaluates.
func dynamicPattern(*evaluation, focus, []sequence) sequence { return nil }

// flagsAt is the index of the argument with the flags.
func flagsAt(name string) int {
	if name == "replace" {
		return 3
	}
	return 2
}

// constantPattern compiles the regular expression of a call, if it is constant.
func (p *parser) constantPattern(c *call, start int) {
	if (c.name != "matches" && c.name != "replace" && c.name != "tokenize") || len(c.args) < 2 {
		if c.name == "tokenize" {
			c.pattern = &pattern{}
		}
		return
	}
	c.pattern = &pattern{}
	text, ok := constantText(c.args[1])
	flags := ""
	ok2 := true
	if at := flagsAt(c.name); len(c.args) > at {
		flags, ok2 = constantText(c.args[at])
	}
	if !ok || !ok2 {
		return
	}
	compiled, err := compilePattern(text, flags)
	if err != nil {
		p.pos = start
		p.fail(err.Code, "%s", err.Reason)
		return
	}
	c.pattern = compiled
}

// constantText returns the string of a literal.
func constantText(x expr) (string, bool) {
	c, ok := x.(*constant)
	if !ok || len(c.value) != 1 || c.value[0].typ != stringAtom {
		return "", false
	}
	return c.value[0].s, true
}

// withPattern evaluates matches, replace and tokenize.
func (e *evaluation) withPattern(c *call, a []sequence) sequence {
	s := text(a[0])
	if c.name == "tokenize" && len(a) == 1 {
		var out sequence
		for word := range strings.FieldsFuncSeq(s, isBlank) {
			if !e.holdItems(1) || !e.spendText(len(word)) {
				return nil
			}
			out = append(out, str(word))
		}
		return out
	}
	p := c.pattern
	if p.of == nil {
		flags := ""
		if at := flagsAt(c.name); len(a) > at {
			flags = text(a[at])
		}
		if p = e.cachedPattern(text(a[1]), flags); p == nil {
			return nil
		}
	}
	if !e.spend(1 + len(s)/bytesPerStep*(1+p.size/8)) {
		return nil
	}
	if c.name == "matches" {
		return aTruth(p.of.MatchString(s))
	}
	if p.of.MatchString("") {
		return e.fail("FORX0003", "the regular expression of %s() matches an empty string", c.name)
	}
	if c.name == "replace" {
		literal := len(a) > 3 && strings.Contains(text(a[3]), "q")
		return e.replace(p, s, text(a[2]), literal)
	}
	if s == "" {
		return nil
	}
	most := min(e.left, e.room/(matchBytes+itemBytes)) + 1
	parts := p.of.Split(s, most+1)
	if len(parts) > most {
		return e.tooManyMatches()
	}
	return e.texts(parts)
}

// matchBytes is the memory of a match while all are found, without its groups.
const matchBytes = 64

// tooManyMatches fails because the matches of a regular expression take more steps or memory than there are.
func (e *evaluation) tooManyMatches() sequence {
	return e.fail("limit", "a regular expression has too many matches on this document")
}

// texts returns strings as a value.
func (e *evaluation) texts(all []string) sequence {
	if !e.holdItems(len(all)) {
		return nil
	}
	out := make(sequence, 0, len(all))
	for _, s := range all {
		if !e.holdText(len(s)) {
			return nil
		}
		out = append(out, str(s))
	}
	return out
}

// patternCost is the number of steps for each byte of a regular expression that is compiled.
const patternCost = 64

// instructionBytes is the memory of a compiled regular expression for each unit of its size.
const instructionBytes = 256

// cachedPattern compiles a regular expression, once per evaluation.
func (e *evaluation) cachedPattern(text, flags string) *pattern {
	key := flags + "\x00" + text
	if known := e.patterns[key]; known != nil {
		return known
	}
	if !e.spend(patternCost * (8 + len(text))) {
		return nil
	}
	compiled, err := compilePattern(text, flags)
	if err != nil {
		e.fail(err.Code, "%s", err.Reason)
		return nil
	}
	if !e.spend(compiled.size) || !e.hold(len(key)+compiled.size*instructionBytes) {
		return nil
	}
	if e.patterns == nil {
		e.patterns = map[string]*pattern{}
	}
	e.patterns[key] = compiled
	return compiled
}

// replace replaces each match. In the replacement $1 stands for a group.
func (e *evaluation) replace(p *pattern, s, with string, literal bool) sequence {
	var b strings.Builder
	last := 0
	most := min(e.left, e.room/(matchBytes+16*p.of.NumSubexp())) + 1
	matches := p.of.FindAllStringSubmatchIndex(s, most)
	if len(matches) == most {
		return e.tooManyMatches()
	}
	for _, m := range matches {
		b.WriteString(s[last:m[0]])
		last = m[1]
		before := b.Len()
		if literal {
			b.WriteString(with)
		} else if !e.expand(&b, with, s, m) {
			return nil
		}
		if !e.holdText(b.Len() - before) {
			return nil
		}
	}
	if last == 0 && !literal && !e.expand(&strings.Builder{}, with, s, make([]int, 2*(p.of.NumSubexp()+1))) {
		return nil
	}
	b.WriteString(s[last:])
	return e.countedText(b.String())
}

// expand writes a replacement for a match, whose groups are at the indexes m.
func (e *evaluation) expand(b *strings.Builder, with, s string, m []int) bool {
	for i := 0; i < len(with); i++ {
		c := with[i]
		switch {
		case c == '\\' && i+1 < len(with) && (with[i+1] == '\\' || with[i+1] == '$'):
			i++
			b.WriteByte(with[i])
		case c == '\\':
			e.fail("FORX0004", `in a replacement \ must be written \\`)
			return false
		case c == '$':
			if i++; i >= len(with) || with[i] < '0' || with[i] > '9' {
				e.fail("FORX0004", `in a replacement $ must be written \$, or have the number of a group after it`)
				return false
			}
			group := int(with[i] - '0')
			for i+1 < len(with) && with[i+1] >= '0' && with[i+1] <= '9' && 10*group+int(with[i+1]-'0') < len(m)/2 {
				i++
				group = 10*group + int(with[i]-'0')
			}
			if group < len(m)/2 && m[2*group] >= 0 {
				b.WriteString(s[m[2*group]:m[2*group+1]])
			}
		default:
			b.WriteByte(c)
		}
	}
	return true
}
