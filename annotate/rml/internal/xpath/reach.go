package xpath

// reach is what an expression depends on beside the expressions that it consists of.
type reach struct {
	focus    bool // the context item, or its position
	outside  bool // nodes outside of the context item
	variable int  // one more than the lowest slot of the variables that are bound outside of it; 0 without any
}

// What functions depend on.
var (
	inFocus    = reach{focus: true}
	everywhere = reach{focus: true, outside: true}
)

// sameEverywhere reports whether the value is the same at every node of a tree.
func (r reach) sameEverywhere() bool { return !r.focus && r.variable == 0 }

// with adds what an operand depends on.
func (r reach) with(p operand, other reach) reach {
	r.focus = r.focus || (other.focus && !p.inner)
	r.outside = r.outside || other.outside
	if r.variable == 0 || (other.variable > 0 && other.variable < r.variable) {
		r.variable = other.variable
	}
	return r
}

// bound removes the variable of a slot. Those that are bound further outside have lower slots, and those
// that are bound further inside have been removed.
func (r reach) bound(slot int) reach {
	if r.variable == slot+1 {
		r.variable = 0
	}
	return r
}

// reaches is what expressions depend on, as far as it has been asked for.
type reaches map[expr]reach

// of returns what an expression depends on.
func (known reaches) of(x expr) reach {
	if r, ok := known[x]; ok {
		return r
	}
	r := own(x)
	for _, p := range operands(x) {
		r = r.with(p, known.of(*p.of))
	}
	switch x := x.(type) {
	case *binding:
		r = r.bound(x.slot)
	case *quantified:
		r = r.bound(x.slot)
	}
	known[x] = r
	return r
}

// own returns what an expression depends on by itself, whatever it consists of.
func own(x expr) reach {
	var r reach
	switch x := x.(type) {
	case *variable:
		r.variable = x.slot + 1
	case contextItem:
		r.focus = true
	case *axisStep:
		r = reach{focus: true, outside: x.axis.outside()}
	case *location:
		r = reach{focus: !x.absolute, outside: x.absolute}
		for _, s := range x.steps {
			r.outside = r.outside || s.axis.outside()
		}
	case *path:
		r.outside = x.absolute
	case *call:
		r = x.function.reach
		r.focus = r.focus && len(x.args) <= x.function.required
	}
	return r
}

// outside reports whether the axis leads to nodes that are not inside of the context item.
func (a axis) outside() bool { return a >= ancestorAxis || a == parentAxis }

// operand is an expression that another one consists of.
type operand struct {
	of *expr
	// inner reports whether it has a context item of its own, and repeated that it may be evaluated
	// several times where the other one is evaluated once.
	inner, repeated bool
}

// operands returns what an expression consists of.
func operands(x expr) []operand {
	all := func(of ...*expr) []operand {
		p := make([]operand, len(of))
		for i, x := range of {
			p[i].of = x
		}
		return p
	}
	within := func(p []operand, of []expr) []operand {
		for i := range of {
			p = append(p, operand{&of[i], true, true})
		}
		return p
	}
	switch x := x.(type) {
	case *list:
		return listed(x.of)
	case *span:
		return all(&x.from, &x.to)
	case *logical:
		return all(&x.left, &x.right)
	case *concatenation:
		return all(&x.left, &x.right)
	case *arithmetic:
		return all(&x.left, &x.right)
	case *valueComparison:
		return all(&x.left, &x.right)
	case *generalComparison:
		return all(&x.left, &x.right)
	case *nodeComparison:
		return all(&x.left, &x.right)
	case *setOperation:
		return all(&x.left, &x.right)
	case *condition:
		return all(&x.test, &x.then, &x.otherwise)
	case *binding:
		return []operand{{of: &x.of}, {of: &x.ret, repeated: x.each}}
	case *quantified:
		return []operand{{of: &x.of}, {of: &x.test, repeated: true}}
	case *sign:
		return all(&x.of)
	case *typeTest:
		return all(&x.of)
	case *castTo:
		return all(&x.of)
	case *simpleMap:
		return []operand{{of: &x.left}, {&x.right, true, true}}
	case *filter:
		return within(all(&x.of), x.predicates)
	case *axisStep:
		return within(nil, x.predicates)
	case *location:
		var p []operand
		for _, s := range x.steps {
			p = within(p, s.predicates)
		}
		return p
	case *path:
		if x.absolute {
			return within(nil, x.steps)
		}
		return within(all(&x.steps[0]), x.steps[1:])
	case *call:
		return listed(x.args)
	}
	return nil
}

// listed returns the expressions of a list as operands.
func listed(of []expr) []operand {
	p := make([]operand, len(of))
	for i := range of {
		p[i].of = &of[i]
	}
	return p
}
