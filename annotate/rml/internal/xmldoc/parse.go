package xmldoc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// maxNesting is how deep parentheses, predicates and arguments may nest in an
// expression.
const maxNesting = 100

// kind is the type of the value of an expression, known when it is compiled
// because there are no variables.
type kind uint8

// The four types of XPath 1.0.
const (
	nodeSet kind = iota
	boolean
	number
	text
)

// String returns the name of the type for error messages.
func (k kind) String() string {
	return [...]string{"a node set", "a boolean", "a number", "a string"}[k]
}

// expression is a node of the syntax tree. It is immutable.
type expression interface {
	kind() kind
	// evaluate returns the value at a place; it may panic with
	// errTooManySteps.
	evaluate(d *Document, f focus) value
}

// binaryOperators are the operators by precedence, loosest first.
var binaryOperators = [...][]string{
	{"or"},
	{"and"},
	{"=", "!="},
	{"<", "<=", ">", ">="},
	{"+", "-"},
	{"*", "div", "mod"},
}

// parser turns tokens into a syntax tree.
type parser struct {
	c       *Compiler
	tokens  []token
	nesting int
	beyond  string // the first function that XPath 1.0 does not have
}

// parse compiles a whole expression. If it calls a function that XPath 1.0
// does not have, the tree cannot be evaluated and the name of that function is
// returned as well.
func (c *Compiler) parse(tokens []token) (tree expression, beyond string, err error) {
	p := &parser{c: c, tokens: tokens}
	tree, err = p.binary(0)
	if err == nil && len(p.tokens) > 0 {
		err = p.unexpected("an operator or the end")
	}
	return tree, p.beyond, err
}

// is reports whether the next token is a certain symbol or operator.
func (p *parser) is(text string) bool { return len(p.tokens) > 0 && p.tokens[0].is(text) }

// take skips the next token if it is a certain symbol or operator.
func (p *parser) take(text string) bool {
	if !p.is(text) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// next returns the next token and skips it.
func (p *parser) next() token {
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

// unexpected is the error for the next token.
func (p *parser) unexpected(want string) error {
	if len(p.tokens) == 0 {
		return fmt.Errorf("the expression ended, expected %s", want)
	}
	return fmt.Errorf("unexpected %q at offset %d, expected %s", p.tokens[0].text, p.tokens[0].start, want)
}

// nested parses an expression between brackets of some kind.
func (p *parser) nested() (expression, error) {
	if p.nesting++; p.nesting > maxNesting {
		return nil, fmt.Errorf("the expression is nested deeper than %d", maxNesting)
	}
	defer func() { p.nesting-- }()
	return p.binary(0)
}

// binary parses the operators of a precedence and those that bind tighter.
func (p *parser) binary(level int) (expression, error) {
	if level == len(binaryOperators) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil && len(p.tokens) > 0 && p.tokens[0].kind == operatorToken &&
		slices.Contains(binaryOperators[level], p.tokens[0].text) {
		operator := p.next().text
		var right expression
		if right, err = p.binary(level + 1); err == nil {
			left = &operation{operator, left, right}
		}
	}
	return left, err
}

// unary parses minus signs.
func (p *parser) unary() (expression, error) {
	signs := 0
	for p.take("-") {
		signs++
	}
	e, err := p.union()
	if err != nil || signs == 0 {
		return e, err
	}
	return &negation{e, signs%2 == 1}, nil
}

// union parses paths with | between.
func (p *parser) union() (expression, error) {
	left, err := p.path()
	for err == nil && p.is("|") {
		at := p.next().start
		var right expression
		if right, err = p.path(); err != nil {
			break
		}
		if left.kind() != nodeSet || right.kind() != nodeSet {
			return nil, fmt.Errorf("the operands of | at offset %d must be node sets", at)
		}
		left = &union{left, right}
	}
	return left, err
}

// path parses a location path or a filter expression with a path after it.
func (p *parser) path() (expression, error) {
	if len(p.tokens) == 0 {
		return nil, p.unexpected("an expression")
	}
	e := &location{}
	switch t := p.tokens[0]; {
	case t.is("(") || t.kind == literalToken || t.kind == numberToken || t.kind == functionToken:
		from, err := p.filter()
		if err != nil || !p.is("/") && !p.is("//") {
			return from, err
		}
		if from.kind() != nodeSet {
			return nil, fmt.Errorf("%s cannot have a path after it, at offset %d", from.kind(), p.tokens[0].start)
		}
		e.from = from
	case t.is("/"):
		e.absolute = true
		if len(p.tokens) == 1 || !p.beginsStep(p.tokens[1]) {
			p.next()
			return e, nil
		}
	case t.is("//"):
		e.absolute = true
	default:
		return e, p.step(e)
	}
	return e, p.steps(e)
}

// beginsStep reports whether a token can begin a step.
func (p *parser) beginsStep(t token) bool {
	return t.kind == nameToken || t.kind == typeToken || t.kind == axisToken || t.is(".") || t.is("..") || t.is("@")
}

// steps parses the steps from a slash on.
func (p *parser) steps(e *location) error {
	for {
		switch {
		case p.take("//"):
			e.steps = append(e.steps, fullStep{axis: descendantOrSelf, test: nodeTest})
		case !p.take("/"):
			return nil
		}
		if err := p.oneStep(e); err != nil {
			return err
		}
	}
}

// step parses a relative path.
func (p *parser) step(e *location) error {
	if err := p.oneStep(e); err != nil {
		return err
	}
	return p.steps(e)
}

// oneStep parses a step.
func (p *parser) oneStep(e *location) error {
	switch {
	case p.take("."):
		e.steps = append(e.steps, fullStep{axis: self, test: nodeTest})
		return nil
	case p.take(".."):
		e.steps = append(e.steps, fullStep{axis: parent, test: nodeTest})
		return nil
	}
	s := fullStep{axis: child}
	if p.take("@") {
		s.axis = attribute
	} else if len(p.tokens) > 0 && p.tokens[0].kind == axisToken {
		t := p.next()
		known := false
		if s.axis, known = axisNames[t.text]; !known {
			return fmt.Errorf("there is no axis %s, or it is not supported", t.text)
		}
		if !p.take("::") {
			return p.unexpected("::")
		}
	}
	if err := p.nodeTest(&s); err != nil {
		return err
	}
	for p.is("[") {
		predicate, err := p.predicate()
		if err != nil {
			return err
		}
		s.predicates = append(s.predicates, predicate)
	}
	e.steps = append(e.steps, s)
	return nil
}

// nodeTest parses the test of a step.
func (p *parser) nodeTest(s *fullStep) error {
	if len(p.tokens) == 0 || p.tokens[0].kind != nameToken && p.tokens[0].kind != typeToken {
		return p.unexpected("a name or a node type")
	}
	t := p.next()
	if t.kind == nameToken {
		s.space = p.c.prefixes[t.prefix]
		switch {
		case t.local != "*":
			s.test, s.known = nameTest, p.c.name(s.space, t.local)
		case t.prefix != "":
			s.test = spaceTest
		default:
			s.test = starTest
		}
		return nil
	}
	switch t.text {
	case "text":
		s.test = textTest
	case "comment":
		s.test = commentTest
	case "node":
		s.test = nodeTest
	default:
		return errors.New("processing-instruction() is not supported")
	}
	if !p.take("(") || !p.take(")") {
		return p.unexpected("()")
	}
	return nil
}

// predicate parses a predicate.
func (p *parser) predicate() (expression, error) {
	p.take("[")
	e, err := p.nested()
	if err == nil && !p.take("]") {
		err = p.unexpected("]")
	}
	return e, err
}

// filter parses a primary expression and its predicates.
func (p *parser) filter() (expression, error) {
	e, err := p.primary()
	if err != nil || !p.is("[") {
		return e, err
	}
	if e.kind() != nodeSet {
		return nil, fmt.Errorf("%s cannot have a predicate, at offset %d", e.kind(), p.tokens[0].start)
	}
	f := &filter{from: e}
	for p.is("[") {
		predicate, err := p.predicate()
		if err != nil {
			return nil, err
		}
		f.predicates = append(f.predicates, predicate)
	}
	return f, nil
}

// primary parses a literal, a number, a function call or a group.
func (p *parser) primary() (expression, error) {
	switch t := p.next(); t.kind {
	case literalToken:
		return constant{value{kind: text, text: t.text[1 : len(t.text)-1]}}, nil
	case numberToken:
		n, err := strconv.ParseFloat(t.text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("the number %q at offset %d: %w", t.text, t.start, err)
		}
		return constant{value{kind: number, number: n}}, nil
	case functionToken:
		return p.call(t)
	}
	e, err := p.nested()
	if err == nil && !p.take(")") {
		err = p.unexpected(")")
	}
	return e, err
}

// call parses the arguments of a function.
func (p *parser) call(t token) (expression, error) {
	fn, known := functions[t.text]
	if !known && p.beyond == "" {
		p.beyond = t.text
	}
	if !p.take("(") {
		return nil, p.unexpected("(")
	}
	e := &call{name: t.text, function: fn}
	for !p.take(")") {
		if len(e.args) > 0 && !p.take(",") {
			return nil, p.unexpected(", or )")
		}
		arg, err := p.nested()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, arg)
	}
	if !known {
		return constant{value{kind: text}}, nil
	}
	if n := len(e.args); n < fn.least || n > fn.most {
		return nil, fmt.Errorf("%s() at offset %d has %d arguments, expected %s", t.text, t.start, n, fn.arity())
	}
	if fn.nodes && len(e.args) > 0 && e.args[0].kind() != nodeSet {
		return nil, fmt.Errorf("the argument of %s() at offset %d is %s, expected a node set", t.text, t.start,
			e.args[0].kind())
	}
	return e, nil
}
