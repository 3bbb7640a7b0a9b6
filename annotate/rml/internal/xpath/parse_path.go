package xpath

import "strings"

// anyNode is descendant-or-self::node(), for which // stands.
func anyNode() expr { return &axisStep{axis: descendantOrSelfAxis, test: nodeTest{any: true}} }

// path parses a path, or a step alone.
func (p *parser) path() expr {
	x := &path{}
	switch {
	case p.take("//"):
		x.absolute = true
		x.steps = append(x.steps, anyNode())
		x.steps = append(x.steps, p.step())
	case p.take("/"):
		x.absolute = true
		if !p.beginsStep() {
			return &location{absolute: true}
		}
		x.steps = append(x.steps, p.step())
	default:
		x.steps = append(x.steps, p.step())
	}
	for p.err == nil {
		before := x.steps[len(x.steps)-1]
		if p.take("//") {
			x.steps = append(x.steps, anyNode())
		} else if !p.take("/") {
			break
		}
		p.expectNodes(before, "/")
		x.steps = append(x.steps, p.step())
	}
	x.shorten()
	if !x.absolute && len(x.steps) == 1 {
		return x.steps[0]
	}
	l := &location{absolute: x.absolute}
	for _, s := range x.steps {
		step, ok := s.(*axisStep)
		if !ok {
			return x
		}
		l.steps = append(l.steps, step)
	}
	return l
}

// expectNodes fails if the value of an operand of a path, or of a set operator, cannot be nodes.
func (p *parser) expectNodes(x expr, mark string) {
	if c, ok := x.(*constant); p.err == nil && (!ok || len(c.value) > 0) && !selectsNodes(x) {
		p.fail("XPTY0019", "the operand of %s is not a node, its value is a string, a number or the like", mark)
	}
}

// shorten writes descendant::x for descendant-or-self::node()/x where x has no predicate, which might
// ask for a position.
func (x *path) shorten() {
	kept := x.steps[:0]
	for _, s := range x.steps {
		step, ok := s.(*axisStep)
		if ok && step.axis == childAxis && len(step.predicates) == 0 && len(kept) > 0 {
			if before, ok := kept[len(kept)-1].(*axisStep); ok && before.axis == descendantOrSelfAxis && before.test.any &&
				len(before.predicates) == 0 {
				kept[len(kept)-1] = &axisStep{axis: descendantAxis, test: step.test}
				continue
			}
		}
		kept = append(kept, s)
	}
	x.steps = kept
}

// beginsStep reports whether a step comes next.
func (p *parser) beginsStep() bool {
	p.skip()
	rest := p.src[p.pos:]
	return rest != "" && (strings.IndexByte(".@*($'\"", rest[0]) >= 0 || (rest[0] >= '0' && rest[0] <= '9') ||
		nameLength(rest, true) > 0 || strings.HasPrefix(rest, "Q{"))
}

// step parses a step or a primary expression, with predicates.
func (p *parser) step() expr {
	p.skip()
	if p.err != nil {
		return nil
	}
	rest := p.src[p.pos:]
	switch {
	case rest == "":
		p.fail("XPST0003", "the expression ends where a value is expected")
		return nil
	case strings.HasPrefix(rest, ".."):
		p.pos += 2
		return p.withPredicates(&axisStep{axis: parentAxis, test: nodeTest{any: true}})
	case rest[0] == '@':
		p.pos++
		return p.axisStep(attributeAxis)
	case rest[0] == '*':
		return p.axisStep(childAxis)
	case rest[0] == '.' && (len(rest) == 1 || rest[1] < '0' || rest[1] > '9'):
		p.pos++
		return p.postfix(contextItem{})
	case rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9'):
		return p.postfix(p.numeral())
	case rest[0] == '"' || rest[0] == '\'':
		return p.postfix(&constant{oneText(p.literal())})
	case rest[0] == '(':
		return p.postfix(p.nest(p.parenthesized))
	case rest[0] == '$':
		return p.postfix(p.variable())
	case rest[0] == '[' || rest[0] == '?':
		p.fail("unsupported", "arrays, maps and look-ups are not supported")
		return nil
	}
	return p.named()
}

// parenthesized parses ( … ), which may be empty.
func (p *parser) parenthesized() expr {
	p.expect("(")
	if p.take(")") {
		return &constant{}
	}
	x := p.expression()
	p.expect(")")
	return x
}

// variable parses a reference to a variable.
func (p *parser) variable() expr {
	start := p.pos
	name := p.variableName()
	for i := len(p.scope) - 1; i >= 0; i-- {
		if p.scope[i] == name {
			return &variable{p.scopeSlots[i]}
		}
	}
	p.pos = start
	p.fail("XPST0008", "the variable is not declared; only for, let, some and every declare variables")
	return nil
}

// named parses what begins with a name: an axis, a kind test, a call, or a name test.
func (p *parser) named() expr {
	start := p.pos
	if word := p.ncName(); word != "" && p.is("::") {
		direction, known := axisNames[word]
		if !known || direction == namespaceAxis {
			p.pos = start
			p.fail("unsupported", "the axis %s is not known", word)
			return nil
		}
		p.take("::")
		return p.axisStep(direction)
	}
	p.pos = start
	name, ok := p.qualified()
	if !ok {
		if p.err == nil {
			p.fail("XPST0003", "expected a value, found %q", p.ahead())
		}
		return nil
	}
	switch {
	case p.is("(") && !name.braced && name.prefix == "" && kindTests[name.local]:
		p.pos = start
		return p.axisStep(childAxis)
	case p.is("(") && !name.braced && name.prefix == "" && reserved[name.local]:
		p.pos = start
		p.fail("unsupported", "%s( is not supported here", name.local)
		return nil
	case p.is("("):
		return p.postfix(p.call(name, start, nil))
	case p.is("#") || p.is("{"):
		p.fail("unsupported", "maps, arrays and function items are not supported")
		return nil
	}
	p.pos = start
	return p.axisStep(childAxis)
}

// kindTests are the names that are kind tests before a parenthesis.
var kindTests = map[string]bool{
	"node": true, "text": true, "comment": true, "processing-instruction": true, "element": true, "attribute": true,
	"document-node": true, "namespace-node": true, "schema-element": true, "schema-attribute": true,
}

// reserved are other names that no function may have.
var reserved = map[string]bool{
	"if": true, "item": true, "switch": true, "typeswitch": true, "empty-sequence": true, "function": true, "map": true, "array": true,
}

// axisStep parses a node test and predicates.
func (p *parser) axisStep(direction axis) expr {
	s := &axisStep{axis: direction}
	s.test = p.nodeTest(&s.axis)
	return p.withPredicates(s)
}

// withPredicates parses the predicates of a step.
func (p *parser) withPredicates(s *axisStep) expr {
	s.predicates = p.predicates()
	return s
}

// postfix parses the predicates of a primary expression.
func (p *parser) postfix(x expr) expr {
	if predicates := p.predicates(); len(predicates) > 0 {
		x = &filter{x, predicates}
	}
	if p.is("?") || p.is("(") {
		p.fail("unsupported", "maps, arrays and function items are not supported")
	}
	return x
}

func (p *parser) predicates() []expr {
	var all []expr
	for p.take("[") {
		all = append(all, p.nest(p.expression))
		p.expect("]")
	}
	return all
}

// nodeTest parses a name test or a kind test. An attribute test moves the child axis to attributes.
func (p *parser) nodeTest(direction *axis) nodeTest {
	t := nodeTest{principal: true}
	p.skip()
	start := p.pos
	if p.take("*") {
		if strings.HasPrefix(p.src[p.pos:], ":") && nameLength(p.src[p.pos+1:], true) > 0 {
			p.pos++
			t.anyURI = true
			t.local = p.ncName()
			return t
		}
		t.anyName = true
		return t
	}
	name, ok := p.qualified()
	if !ok {
		if p.err == nil {
			p.fail("XPST0003", "expected a name or a kind of node, found %q", p.ahead())
		}
		return t
	}
	if p.is("(") && !name.braced && name.prefix == "" {
		if !kindTests[name.local] {
			p.pos = start
			p.fail("XPST0003", "%s() is not a kind of node", name.local)
			return t
		}
		if name.local == "attribute" && *direction == childAxis {
			*direction = attributeAxis
		}
		return p.kindTest(name.local)
	}
	t.local = name.local
	t.space = name.space
	t.anyLocal = name.local == "*"
	if p.number != nil && !t.anyLocal {
		t.known = p.number(t.space, t.local)
	}
	return t
}

// kindTest parses the arguments of a kind test.
func (p *parser) kindTest(name string) nodeTest {
	p.expect("(")
	var t nodeTest
	switch name {
	case "node":
		t.any = true
	case "text":
		t = nodeTest{kind: Text, anyName: true}
	case "comment":
		t = nodeTest{kind: Comment, anyName: true}
	case "document-node":
		t = nodeTest{kind: Root, anyName: true}
	case "processing-instruction":
		if p.compatible {
			p.fail("unsupported", "processing-instruction() is not supported: processing instructions are not kept")
		}
		t.none = true
		if p.is("'") || p.is(`"`) {
			p.literal()
		} else {
			p.ncName()
		}
	case "element", "attribute":
		t = nodeTest{kind: Element, anyName: true}
		if name == "attribute" {
			t.kind = Attribute
		}
		if !p.is(")") && !p.take("*") {
			named, _ := p.qualified()
			t.anyName = false
			t.local = named.local
			t.space = named.space
		}
	default:
		p.fail("unsupported", "%s() is not supported", name)
	}
	p.expect(")")
	return t
}

// singleType parses the type of a cast.
func (p *parser) singleType() *sequenceType {
	t := &sequenceType{least: 1}
	p.atomicType(t)
	if p.err == nil && (t.anyAtom || t.numbers || t.typ == qname) {
		p.fail("XPST0080", "a cast to this type is not possible")
	}
	if p.take("?") {
		t.least = 0
	}
	return t
}

// atomicType parses the name of an atomic type.
func (p *parser) atomicType(t *sequenceType) {
	p.skip()
	start := p.pos
	name, ok := p.qualified()
	if !ok || name.space != schemaSpace || !t.named(name.local) {
		p.pos = start
		p.fail("XPST0051", "the atomic type %s is not known", p.ahead())
	}
}

// named sets the atomic type of a name of XML Schema.
func (t *sequenceType) named(local string) bool {
	switch local {
	case "anyAtomicType":
		t.anyAtom = true
		return true
	case "numeric":
		t.numbers = true
		return true
	}
	for i, name := range atomNames {
		if name == local && i > 0 {
			t.typ = atom(i)
			return true
		}
	}
	for i := range derived {
		if derived[i].name == local {
			t.typ = derived[i].base
			t.restrict = derived[i]
			return true
		}
	}
	return false
}

// sequenceType parses the type of instance of and treat as.
func (p *parser) sequenceType() *sequenceType {
	t := &sequenceType{least: 1}
	p.skip()
	start := p.pos
	word := p.ncName()
	switch {
	case word != "" && p.is("(") && (word == "empty-sequence" || word == "item"):
		p.expect("(")
		p.expect(")")
		t.empty = word == "empty-sequence"
		t.anyItem = word == "item"
	case word != "" && p.is("(") && kindTests[word]:
		test := p.kindTest(word)
		t.node = &test
	default:
		p.pos = start
		if p.atomicType(t); t.restrict != nil {
			p.pos = start
			p.fail("unsupported", "values do not keep the derived type xs:%s", t.restrict.name)
		}
	}
	switch {
	case p.take("?"):
		t.least = 0
	case p.take("*"):
		t.least = 0
		t.many = true
	case p.take("+"):
		t.many = true
	}
	return t
}
