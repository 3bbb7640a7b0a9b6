package xmldoc

import (
	"strconv"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// The axes of plain steps.
const (
	childAxis uint8 = iota
	attributeAxis
	selfAxis
	parentAxis
)

// The node tests of plain steps.
const (
	nameTest  uint8 = iota // of an expanded name
	spaceTest              // of any name in a namespace
	starTest               // of any name
	textTest
	nodeTest
)

// path is a compiled expression. When full is nil, the steps hold.
type path struct {
	owner    *Compiler
	expr     string
	id       int
	names    int // the names that the compiler knew when this was compiled
	absolute bool
	steps    []step
	name     bool              // the steps are one, relative, of a name only
	full     *xpath.Expression // any other expression
	scalar   bool              // its value has no nodes
	inside   bool              // it looks only at the record and what is inside
	same     bool              // its value is the same at every record
}

// String returns the expression as it was written.
func (p *path) String() string { return p.expr }

// step is a plain step.
type step struct {
	axis     uint8
	test     uint8
	deep     bool // applied to the descendants of the context too, as after //
	sort     bool // what it selects may be out of order or twice
	known    int32
	space    int32
	position int // the number in the predicate, 0 for none
}

// plain is a location path of plain steps.
type plain struct {
	absolute bool
	name     bool
	list     []step
}

// plainSteps compiles tokens that are a plain location path and reports
// whether they are.
func (c *Compiler) plainSteps(tokens []token) (plain, bool) {
	if len(tokens) == 0 {
		return plain{}, false
	}
	p := plain{}
	deep := false
	if tokens[0].is("/") || tokens[0].is("//") {
		p.absolute = true
		deep = tokens[0].is("//")
		tokens = tokens[1:]
		if len(tokens) == 0 {
			return p, !deep
		}
	}
	for {
		s, rest, ok := c.plainStep(tokens)
		if !ok {
			return plain{}, false
		}
		s.deep = deep
		p.list = append(p.list, s)
		if len(rest) == 0 {
			break
		}
		if deep = rest[0].is("//"); !deep && !rest[0].is("/") {
			return plain{}, false
		}
		tokens = rest[1:]
	}
	only := &p.list[0]
	p.name = len(p.list) == 1 && !p.absolute && only.axis <= attributeAxis && only.test == nameTest && only.position == 0
	nested := false // may a node of the context stand within another
	for i := range p.list {
		s := &p.list[i]
		s.sort = nested || s.axis == parentAxis || (s.deep && (s.axis != childAxis || s.position > 0))
		nested = nested || s.deep || s.axis == parentAxis
	}
	return p, true
}

// plainStep compiles the plain step that tokens begin with.
func (c *Compiler) plainStep(tokens []token) (step, []token, bool) {
	s := step{}
	at := func(i int) token {
		if i < len(tokens) {
			return tokens[i]
		}
		return token{}
	}
	switch {
	case at(0).is("."):
		return step{axis: selfAxis, test: nodeTest}, tokens[1:], true
	case at(0).is(".."):
		return step{axis: parentAxis, test: nodeTest}, tokens[1:], true
	case at(0).is("@"):
		s.axis = attributeAxis
		tokens = tokens[1:]
	}
	switch t := at(0); {
	case t.kind == nameToken && t.local == "*" && t.prefix == "":
		s.test = starTest
		tokens = tokens[1:]
	case t.kind == nameToken && t.local == "*":
		s.test = spaceTest
		s.space = c.prefixes[t.prefix]
		tokens = tokens[1:]
	case t.kind == nameToken:
		s.test = nameTest
		s.known = c.name(c.prefixes[t.prefix], t.local)
		tokens = tokens[1:]
	case t.kind == typeToken && t.text == "text" && s.axis == childAxis && at(1).is("(") && at(2).is(")"):
		s.test = textTest
		tokens = tokens[3:]
	case t.kind == typeToken && t.text == "node" && s.axis == childAxis && at(1).is("(") && at(2).is(")"):
		s.test = nodeTest
		tokens = tokens[3:]
	default:
		return s, nil, false
	}
	if !at(0).is("[") {
		return s, tokens, true
	}
	position, err := strconv.Atoi(at(1).text)
	if err != nil || position < 1 || at(1).kind != numberToken || !at(2).is("]") || at(3).is("[") {
		return s, nil, false
	}
	s.position = position
	return s, tokens[3:], true
}
