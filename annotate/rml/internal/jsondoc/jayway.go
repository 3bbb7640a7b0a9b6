package jsondoc

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// NewJayway returns a compiler for the JSONPath of Jayway (version 2) and for the JSON that
// json-smart reads in its permissive mode, as CARML 0.3.2 has them. See the package documentation.
func NewJayway(limits input.Limits) *Compiler {
	c := New(limits)
	c.jayway = true
	return c
}

// ReadStrictly refuses a text that is not JSON, even where the JSONPath is that of Jayway.
// It must be called before the first document is created.
func (c *Compiler) ReadStrictly() { c.strict = true }

// tail is what ends a path of Jayway and is not a selection: a function, or names whose members
// are merged into one object.
type tail struct {
	function  string
	arguments []operand
	names     []selector
}

// jaywayFunctions are the functions that may end a path. Those that CARML knows by name but
// gives no value for are among them: they select nothing.
func jaywayFunctions() []string {
	return []string{
		"append", "avg", "concat", "first", "index", "keys", "last", "length", "max", "min", "size", "stddev", "sum",
	}
}

// jayway parses a whole expression in the JSONPath of Jayway. Spaces around it do not count, and
// "$." may be left out.
func (p *parser) jayway() query {
	p.expr = strings.TrimSpace(p.expr)
	p.definite = true
	p.singleQuotes = true
	if p.expr == "" {
		p.expected("a path")
	}
	q := query{absolute: true, singular: true}
	if c := p.peek(); c == '$' || c == '@' {
		p.at++
	} else if c != '[' {
		p.jaywayName(&q, false, false)
	}
	p.jaywaySegments(&q, false)
	if p.at < len(p.expr) {
		p.expected("'.', '[' or the end of the path")
	}
	return q
}

// jaywaySegments parses segments up to the end of a path. A path within a filter ends at a
// space, an operator or a parenthesis.
func (p *parser) jaywaySegments(q *query, inFilter bool) {
	for p.at < len(p.expr) && p.tail == nil {
		switch {
		case p.take(".."):
			p.definite = false
			if p.peek() == '[' {
				q.add(segment{descendant: true, selectors: p.jaywayBrackets()})
				continue
			}
			p.jaywayName(q, true, inFilter)
		case p.take("."):
			if p.peek() != '[' {
				p.jaywayName(q, false, inFilter)
				continue
			}
			fallthrough
		case p.peek() == '[':
			p.jaywaySelection(q)
		default:
			return
		}
	}
}

// jaywaySelection adds a bracketed selection. Several names at the end of a path are merged.
func (p *parser) jaywaySelection(q *query) {
	selectors := p.jaywayBrackets()
	names := !slices.ContainsFunc(selectors, func(s selector) bool { return s.kind != selectName })
	if names && len(selectors) > 1 && p.at == len(p.expr) {
		p.tail = &tail{names: selectors}
		return
	}
	if len(selectors) > 1 || selectors[0].kind > selectIndex {
		p.definite = false
	}
	q.add(segment{selectors: selectors})
}

// jaywayName adds a member name as it stands, a wildcard, or the function that ends the path.
func (p *parser) jaywayName(q *query, descendant, inFilter bool) {
	stops := ".["
	if inFilter {
		stops = ".[ \t()<>=~!&|,]}"
	}
	start := p.at
	for p.at < len(p.expr) && strings.IndexByte(stops, p.expr[p.at]) < 0 {
		if p.expr[p.at] == '(' && slices.Contains(jaywayFunctions(), p.expr[start:p.at]) {
			p.jaywayCall(p.expr[start:p.at])
			return
		}
		p.at++
	}
	name := p.expr[start:p.at]
	if inFilter && p.peek() == '(' && slices.Contains(jaywayFunctions(), name) {
		p.jaywayCall(name)
		return
	}
	s := selector{kind: selectName, slot: -1, name: name}
	switch name {
	case "":
		p.expected("a member name, '*' or a bracket; a name with a dot or a bracket is written ['name']")
	case "*":
		s = selector{kind: selectWildcard}
		p.definite = false
	}
	q.add(segment{descendant: descendant, selectors: []selector{s}})
}

// jaywayCall parses the arguments of the function that ends a path.
func (p *parser) jaywayCall(name string) {
	p.deeper()
	defer func() { p.nesting-- }()
	p.at++
	t := &tail{function: name}
	for p.space(); !p.take(")"); p.space() {
		if len(t.arguments) > 0 {
			if !p.take(",") {
				p.expected("',' or ')'")
			}
			p.space()
		}
		t.arguments = append(t.arguments, p.jaywayOperand())
	}
	p.tail = t
}

// jaywayBrackets parses a bracketed selection; a filter may have parentheses or not.
func (p *parser) jaywayBrackets() []selector {
	p.at++
	var list []selector
	for {
		p.space()
		if p.take("?") {
			p.space()
			list = append(list, selector{kind: selectFilter, filter: p.jaywayOr()})
		} else {
			list = append(list, p.selector())
		}
		p.space()
		if p.take("]") {
			return list
		}
		if !p.take(",") {
			p.expected("',' or ']'")
		}
	}
}

func (p *parser) jaywayOr() *logical {
	return p.combination(logicalOr, "||", (*parser).jaywayAnd)
}

func (p *parser) jaywayAnd() *logical {
	return p.combination(logicalAnd, "&&", (*parser).jaywayBasic)
}

// jaywayBasic parses a negation, a parenthesis, a comparison or a test for existence.
func (p *parser) jaywayBasic() *logical {
	p.deeper()
	defer func() { p.nesting-- }()
	if p.take("!") {
		p.space()
		return &logical{kind: logicalNot, terms: []*logical{p.jaywayBasic()}}
	}
	if p.take("(") {
		p.space()
		inner := p.jaywayOr()
		p.space()
		if !p.take(")") {
			p.expected("')' or an operator")
		}
		return inner
	}
	start := p.at
	left := p.jaywayOperand()
	op, ok := p.jaywayComparison()
	if !ok {
		if left.kind != operandQuery {
			p.at = start
			p.fail("a literal must be compared")
		}
		return &logical{kind: logicalJayway, comparison: exists, left: left}
	}
	l := &logical{kind: logicalJayway, comparison: op, left: left, right: p.jaywayOperand()}
	if op == matchesPattern && l.left.literal.kind == patternValue {
		l.left, l.right = l.right, l.left
	}
	if op == matchesPattern && l.right.literal.kind != patternValue {
		p.fail("expected a pattern between slashes beside =~")
	}
	return l
}

// jaywayComparison consumes an operator with the space around it.
func (p *parser) jaywayComparison() (comparison, bool) {
	for _, c := range [...]struct {
		text string
		op   comparison
	}{
		{"===", equal}, {"!==", notEqual}, {"==", equal}, {"!=", notEqual}, {"=~", matchesPattern},
		{"<=", lessOrEqual}, {">=", greaterOrEqual}, {"<", less}, {">", greater},
	} {
		if p.operator(c.text) {
			return c.op, true
		}
	}
	before := p.at
	p.space()
	start := p.at
	for c := p.peek(); c|0x20 >= 'a' && c|0x20 <= 'z'; c = p.peek() {
		p.at++
	}
	for _, c := range [...]struct {
		text string
		op   comparison
	}{
		{"in", isIn}, {"nin", isNotIn}, {"subsetof", isSubset}, {"anyof", hasAny}, {"noneof", hasNone}, {"all", hasAll},
		{"contains", containsValue}, {"size", sizeIs}, {"empty", emptyIs},
	} {
		if strings.EqualFold(p.expr[start:p.at], c.text) {
			p.space()
			return c.op, true
		}
	}
	p.at = before
	return 0, false
}

// jaywayOperand parses a path, a literal, a list or a pattern.
func (p *parser) jaywayOperand() operand {
	p.deeper()
	defer func() { p.nesting-- }()
	switch c := p.peek(); {
	case c == '@' || c == '$':
		return p.jaywayPath()
	case c == '\'' || c == '"':
		return operand{literal: value{kind: stringValue, text: []byte(p.quoted())}}
	case c == '-' || (c >= '0' && c <= '9'):
		return operand{literal: value{kind: numberValue, text: []byte(p.number())}}
	case c == '[':
		return p.jaywayList()
	case c == '/':
		return p.jaywayPattern()
	case c >= 'a' && c <= 'z':
		return p.word()
	}
	p.expected("'@', '$', a literal, a list in brackets or a pattern between slashes")
	return operand{}
}

// jaywayPath parses a path within a filter or an argument.
func (p *parser) jaywayPath() operand {
	outer, definite := p.tail, p.definite
	p.tail = nil
	p.definite = true
	q := query{absolute: p.peek() == '$', singular: true}
	p.at++
	p.jaywaySegments(&q, true)
	o := operand{kind: operandQuery, query: &q, tail: p.tail, several: !p.definite}
	p.tail = outer
	p.definite = definite
	return o
}

func (p *parser) jaywayList() operand {
	p.at++
	list := operand{literal: value{kind: listValue}}
	for p.space(); !p.take("]"); p.space() {
		if len(list.literal.list) > 0 {
			if !p.take(",") {
				p.expected("',' or ']'")
			}
			p.space()
		}
		start := p.at
		o := p.jaywayOperand()
		if o.kind != operandLiteral {
			p.at = start
			p.fail("expected a literal in a list")
		}
		list.literal.list = append(list.literal.list, o.literal)
	}
	return list
}

// jaywayPattern parses a pattern with its flags. The syntax is that of Go (RE2), which takes
// time in proportion to the text; it has no look-around and no back references.
func (p *parser) jaywayPattern() operand {
	start := p.at
	p.at++
	var b strings.Builder
	for p.peek() != '/' {
		if p.at >= len(p.expr) {
			p.expected("the closing '/'")
		}
		if p.peek() == '\\' && strings.HasPrefix(p.expr[p.at:], `\/`) {
			p.at++
		}
		_, size := utf8.DecodeRuneInString(p.expr[p.at:])
		b.WriteString(p.expr[p.at : p.at+size])
		p.at += size
	}
	p.at++
	flags := ""
	for c := p.peek(); c|0x20 >= 'a' && c|0x20 <= 'z'; c = p.peek() {
		switch c {
		case 'i', 'm', 's':
			flags += string(rune(c))
		case 'u', 'U': // letters beyond ASCII count in any case
		default:
			p.fail("unknown flag of a pattern, expected i, m, s or u")
		}
		p.at++
	}
	source := `\A(?:` + b.String() + `)\z`
	if flags != "" {
		source = "(?" + flags + ")" + source
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		p.at = start
		p.fail("the pattern is not valid: " + err.Error())
	}
	return operand{literal: value{kind: patternValue, pattern: compiled}}
}
