package xpath

import "slices"

// nest parses something that may stand within itself, up to a depth.
func (p *parser) nest(parse func() expr) expr {
	if p.nesting++; p.nesting > maxNesting {
		p.fail("limit", "the expression is nested deeper than %d", maxNesting)
	}
	defer func() { p.nesting-- }()
	if p.err != nil {
		return nil
	}
	return parse()
}

// expression parses expressions with commas between.
func (p *parser) expression() expr {
	first := p.single()
	if !p.is(",") {
		return first
	}
	l := &list{of: []expr{first}}
	for p.take(",") {
		l.of = append(l.of, p.single())
	}
	return l
}

// single parses an expression without commas.
func (p *parser) single() expr { return p.nest(p.oneSingle) }

func (p *parser) oneSingle() expr {
	switch {
	case p.follows("for", "$"):
		p.takeWord("for")
		return p.bindings(true)
	case p.follows("let", "$"):
		p.takeWord("let")
		return p.bindings(false)
	case p.follows("some", "$"):
		p.takeWord("some")
		return p.quantifiers(false)
	case p.follows("every", "$"):
		p.takeWord("every")
		return p.quantifiers(true)
	case p.follows("if", "("):
		p.takeWord("if")
		p.expect("(")
		c := &condition{test: p.expression()}
		p.expect(")")
		p.expectWord("then")
		c.then = p.single()
		p.expectWord("else")
		c.otherwise = p.single()
		return c
	}
	return p.or()
}

// declare puts a variable into scope and returns its slot.
func (p *parser) declare(name string) int {
	p.scope = append(p.scope, name)
	p.scopeSlots = append(p.scopeSlots, p.slots)
	p.slots++
	return p.slots - 1
}

// variableName reads $ and a name, as it is written with its namespace.
func (p *parser) variableName() string {
	p.expect("$")
	name, ok := p.qualified()
	if !ok && p.err == nil {
		p.fail("XPST0003", "expected a name after $")
	}
	return name.space + "}" + name.local
}

// bindings parses the variables of for or let and what follows.
func (p *parser) bindings(each bool) expr {
	before := len(p.scope)
	var all []*binding
	for p.err == nil {
		name := p.variableName()
		if each {
			p.expectWord("in")
		} else {
			p.expect(":=")
		}
		b := &binding{each: each, of: p.single()}
		b.slot = p.declare(name)
		all = append(all, b)
		if !p.take(",") {
			break
		}
	}
	p.expectWord("return")
	result := p.single()
	p.scope = p.scope[:before]
	p.scopeSlots = p.scopeSlots[:before]
	for _, b := range slices.Backward(all) {
		b.ret = result
		result = b
	}
	return result
}

// quantifiers parses the variables of some or every and what follows.
func (p *parser) quantifiers(every bool) expr {
	before := len(p.scope)
	var all []*quantified
	for p.err == nil {
		name := p.variableName()
		p.expectWord("in")
		q := &quantified{every: every, of: p.single()}
		q.slot = p.declare(name)
		all = append(all, q)
		if !p.take(",") {
			break
		}
	}
	p.expectWord("satisfies")
	result := p.single()
	p.scope = p.scope[:before]
	p.scopeSlots = p.scopeSlots[:before]
	for _, q := range slices.Backward(all) {
		q.test = result
		result = q
	}
	return result
}

func (p *parser) or() expr {
	left := p.and()
	for p.takeWord("or") {
		left = &logical{true, left, p.and()}
	}
	return left
}

func (p *parser) and() expr {
	left := p.comparison()
	for p.takeWord("and") {
		left = &logical{false, left, p.comparison()}
	}
	return left
}

// comparison parses at most one comparison; they do not chain.
func (p *parser) comparison() expr {
	left := p.concatenation()
	for _, mark := range []string{"<<", ">>"} {
		if p.take(mark) {
			return &nodeComparison{mark, left, p.concatenation()}
		}
	}
	for _, mark := range []string{"!=", "<=", ">=", "=", "<", ">"} {
		if !p.is("=>") && p.take(mark) {
			return &generalComparison{comparisons[mark], left, p.concatenation()}
		}
	}
	for _, word := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		if p.takeWord(word) {
			return &valueComparison{word, left, p.concatenation()}
		}
	}
	if p.takeWord("is") {
		return &nodeComparison{"is", left, p.concatenation()}
	}
	return left
}

func (p *parser) concatenation() expr {
	left := p.to()
	for p.take("||") {
		left = &concatenation{left, p.to()}
	}
	return left
}

func (p *parser) to() expr {
	left := p.additive()
	if p.takeWord("to") {
		return &span{left, p.additive()}
	}
	return left
}

func (p *parser) additive() expr {
	left := p.multiplicative()
	for {
		switch {
		case p.take("+"):
			left = &arithmetic{"+", left, p.multiplicative()}
		case p.take("-"):
			left = &arithmetic{"-", left, p.multiplicative()}
		default:
			return left
		}
	}
}

func (p *parser) multiplicative() expr {
	left := p.unionExpr()
	for {
		operator := ""
		switch {
		case p.take("*"):
			operator = "*"
		case p.takeWord("div"):
			operator = "div"
		case p.takeWord("idiv"):
			operator = "idiv"
		case p.takeWord("mod"):
			operator = "mod"
		default:
			return left
		}
		left = &arithmetic{operator, left, p.unionExpr()}
	}
}

func (p *parser) unionExpr() expr {
	left := p.intersection()
	for p.takeWord("union") || (!p.is("||") && p.take("|")) {
		left = p.setOperation(unionOf, "|", left, p.intersection())
	}
	return left
}

func (p *parser) setOperation(operator int, mark string, left, right expr) expr {
	p.expectNodes(left, mark)
	p.expectNodes(right, mark)
	return &setOperation{operator, left, right}
}

func (p *parser) intersection() expr {
	left := p.instance()
	for {
		switch {
		case p.takeWord("intersect"):
			left = p.setOperation(intersectOf, "intersect", left, p.instance())
		case p.takeWord("except"):
			left = p.setOperation(exceptOf, "except", left, p.instance())
		default:
			return left
		}
	}
}

// instance parses the operators on types, and => within them.
func (p *parser) instance() expr {
	left := p.treat()
	if p.takeWords("instance", "of") {
		return &typeTest{of: left, typ: p.sequenceType()}
	}
	return left
}

func (p *parser) treat() expr {
	left := p.castable()
	if p.takeWords("treat", "as") {
		return &typeTest{of: left, treat: true, typ: p.sequenceType()}
	}
	return left
}

func (p *parser) castable() expr {
	left := p.castAs()
	if p.takeWords("castable", "as") {
		return &castTo{of: left, castable: true, typ: p.singleType()}
	}
	return left
}

func (p *parser) castAs() expr {
	left := p.arrow()
	if p.takeWords("cast", "as") {
		return &castTo{of: left, typ: p.singleType()}
	}
	return left
}

// arrow parses calls with =>, whose first argument precedes it.
func (p *parser) arrow() expr {
	left := p.unary()
	for p.take("=>") {
		p.skip()
		start := p.pos
		name, ok := p.qualified()
		if !ok || !p.is("(") {
			p.pos = start
			p.fail("unsupported", "expected the name of a function and its arguments after =>")
			return left
		}
		left = p.call(name, start, left)
	}
	return left
}

func (p *parser) unary() expr {
	minus := false
	signs := false
	for {
		switch {
		case p.take("-"):
			minus = !minus
			signs = true
		case p.take("+"):
			signs = true
		default:
			x := p.simpleMap()
			if signs {
				return &sign{minus, x}
			}
			return x
		}
	}
}

func (p *parser) simpleMap() expr {
	left := p.path()
	for !p.is("!=") && p.take("!") {
		left = &simpleMap{left, p.path()}
	}
	return left
}
