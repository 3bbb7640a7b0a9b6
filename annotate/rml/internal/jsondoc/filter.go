package jsondoc

import (
	"strings"
)

// or parses logical-or-expr.
func (p *parser) or() *logical {
	return p.combination(logicalOr, "||", (*parser).and)
}

// and parses logical-and-expr.
func (p *parser) and() *logical {
	return p.combination(logicalAnd, "&&", (*parser).basic)
}

// combination parses tests with an operator between them.
func (p *parser) combination(kind logicalKind, operator string, test func(*parser) *logical) *logical {
	terms := []*logical{test(p)}
	for p.operator(operator) {
		terms = append(terms, test(p))
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return &logical{kind: kind, terms: terms}
}

// operator consumes an operator with the space around it, if it is next.
func (p *parser) operator(text string) bool {
	before := p.at
	p.space()
	if !p.take(text) {
		p.at = before
		return false
	}
	p.space()
	return true
}

// basic parses a parenthesis, a comparison or a test.
func (p *parser) basic() *logical {
	p.deeper()
	defer func() { p.nesting-- }()
	if p.take("!") {
		p.space()
		var inner *logical
		if p.peek() == '(' {
			inner = p.parenthesis()
		} else {
			start := p.at
			inner = p.test(start, p.operand())
		}
		return &logical{kind: logicalNot, terms: []*logical{inner}}
	}
	if p.peek() == '(' {
		return p.parenthesis()
	}
	start := p.at
	left := p.operand()
	op, ok := p.comparison()
	if !ok {
		return p.test(start, left)
	}
	p.comparable(start, left)
	start = p.at
	right := p.operand()
	p.comparable(start, right)
	return &logical{kind: logicalCompare, comparison: op, left: left, right: right}
}

func (p *parser) parenthesis() *logical {
	p.at++
	p.space()
	inner := p.or()
	p.space()
	if !p.take(")") {
		p.expected("')'")
	}
	return inner
}

// comparison consumes a comparison operator with the space around it.
func (p *parser) comparison() (comparison, bool) {
	for _, c := range [...]struct {
		text string
		op   comparison
	}{
		{"==", equal}, {"!=", notEqual}, {"<=", lessOrEqual}, {">=", greaterOrEqual}, {"<", less}, {">", greater},
	} {
		if p.operator(c.text) {
			return c.op, true
		}
	}
	return 0, false
}

// test turns an operand without an operator into a test.
func (p *parser) test(start int, o operand) *logical {
	switch {
	case o.kind == operandQuery:
		return &logical{kind: logicalExists, query: o.query}
	case o.kind == operandCall && o.call.function.result == logicalType:
		return &logical{kind: logicalCall, call: o.call}
	case o.kind == operandCall:
		p.at = start
		p.fail("the result of " + o.call.function.name + "() must be compared")
	}
	p.at = start
	p.fail("a literal must be compared")
	return nil
}

// comparable checks that an operand has a single value.
func (p *parser) comparable(start int, o operand) {
	switch {
	case o.kind == operandQuery && !o.query.singular:
		p.at = start
		p.fail("a query that may select several nodes must not be compared")
	case o.kind == operandCall && o.call.function.result != valueType:
		p.at = start
		p.fail("the result of " + o.call.function.name + "() must not be compared")
	}
}

// operand parses a literal, a query or a function call.
func (p *parser) operand() operand {
	switch c := p.peek(); {
	case p.take("@"):
		q := p.segments(false)
		return operand{kind: operandQuery, query: &q}
	case p.take("$"):
		q := p.segments(true)
		return operand{kind: operandQuery, query: &q}
	case c == '\'' || c == '"':
		return operand{literal: value{kind: stringValue, text: []byte(p.quoted())}}
	case c == '-' || (c >= '0' && c <= '9'):
		return operand{literal: value{kind: numberValue, text: []byte(p.number())}}
	case c >= 'a' && c <= 'z':
		return p.word()
	}
	p.expected("'@', '$', a literal, a function or '('")
	return operand{}
}

// word parses true, false, null or a function call.
func (p *parser) word() operand {
	start := p.at
	for c := p.peek(); (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; c = p.peek() {
		p.at++
	}
	name := p.expr[start:p.at]
	if p.peek() == '(' {
		return operand{kind: operandCall, call: p.arguments(start, name)}
	}
	switch name {
	case "true", "false":
		return operand{literal: value{kind: boolValue, truth: name == "true"}}
	case "null":
		return operand{literal: value{kind: nullValue}}
	}
	p.at = start
	p.fail("unknown word " + name + ", expected true, false, null or a function call")
	return operand{}
}

// number parses a number literal.
func (p *parser) number() string {
	start := p.at
	digits := func() int {
		from := p.at
		for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
			p.at++
		}
		if p.at == from {
			p.expected("a digit")
		}
		return from
	}
	p.take("-")
	if from := digits(); p.expr[from] == '0' && p.at > from+1 {
		p.at = from
		p.fail("a number must not begin with 0 and another digit")
	}
	if p.take(".") {
		digits()
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if !p.take("-") {
			p.take("+")
		}
		digits()
	}
	return p.expr[start:p.at]
}

// arguments parses the arguments of a function and checks their types (RFC
// 9535 section 2.4.3).
func (p *parser) arguments(start int, name string) *call {
	fn := lookupFunction(name)
	if fn == nil {
		p.at = start
		p.fail("unknown function " + name + ", expected one of " + strings.Join(functionNames(), ", "))
	}
	p.deeper()
	defer func() { p.nesting-- }()
	p.at++
	p.space()
	c := &call{function: fn}
	for n := 0; p.peek() != ')'; n++ {
		if n > 0 {
			if !p.take(",") {
				p.expected("',' or ')'")
			}
			p.space()
		}
		if n == len(fn.parameters) {
			p.fail(fn.signature())
		}
		c.arguments = append(c.arguments, p.argument(fn.parameters[n]))
		p.space()
	}
	if len(c.arguments) < len(fn.parameters) {
		p.fail(fn.signature())
	}
	p.at++
	c.prepare()
	return c
}

// argument parses one argument of a type.
func (p *parser) argument(want exprType) operand {
	start := p.at
	o := p.operand()
	ok := false
	switch want {
	case valueType:
		ok = o.kind == operandLiteral || (o.kind == operandQuery && o.query.singular) ||
			(o.kind == operandCall && o.call.function.result == valueType)
	case nodesType:
		ok = o.kind == operandQuery
	}
	if !ok {
		p.at = start
		p.fail("argument of the wrong type, expected " + want.String())
	}
	return o
}
