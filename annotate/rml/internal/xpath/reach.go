package xpath

// reach is what an expression depends on beside the expressions that it consists of.
type reach struct {
	focus   bool // the context item, or its position
	outside bool // nodes outside of the context item
}

// What functions depend on.
var (
	inFocus    = reach{focus: true}
	everywhere = reach{focus: true, outside: true}
)

// with adds what another expression depends on.
func (r reach) with(of ...expr) reach {
	for _, x := range of {
		other := reachOf(x)
		r.focus, r.outside = r.focus || other.focus, r.outside || other.outside
	}
	return r
}

// within adds what an expression depends on that has a context item of its own.
func (r reach) within(of ...expr) reach {
	for _, x := range of {
		r.outside = r.outside || reachOf(x).outside
	}
	return r
}

// reachOf returns what an expression depends on.
func reachOf(x expr) reach {
	switch x := x.(type) {
	case *constant, *variable:
		return reach{}
	case contextItem:
		return reach{focus: true}
	case *list:
		return reach{}.with(x.of...)
	case *span:
		return reach{}.with(x.from, x.to)
	case *logical:
		return reach{}.with(x.left, x.right)
	case *concatenation:
		return reach{}.with(x.left, x.right)
	case *arithmetic:
		return reach{}.with(x.left, x.right)
	case *valueComparison:
		return reach{}.with(x.left, x.right)
	case *generalComparison:
		return reach{}.with(x.left, x.right)
	case *nodeComparison:
		return reach{}.with(x.left, x.right)
	case *setOperation:
		return reach{}.with(x.left, x.right)
	case *condition:
		return reach{}.with(x.test, x.then, x.otherwise)
	case *binding:
		return reach{}.with(x.of, x.ret)
	case *quantified:
		return reach{}.with(x.of, x.test)
	case *sign:
		return reach{}.with(x.of)
	case *typeTest:
		return reach{}.with(x.of)
	case *castTo:
		return reach{}.with(x.of)
	case *simpleMap:
		return reach{}.with(x.left).within(x.right)
	case *filter:
		return reach{}.with(x.of).within(x.predicates...)
	case *axisStep:
		return reach{focus: true, outside: x.axis >= ancestorAxis || x.axis == parentAxis}.within(x.predicates...)
	case *location:
		r := reach{focus: !x.absolute, outside: x.absolute}
		for _, s := range x.steps {
			r = r.within(s)
		}
		return r
	case *path:
		if x.absolute {
			return reach{outside: true}.within(x.steps...)
		}
		return reach{}.with(x.steps[0]).within(x.steps[1:]...)
	case *call:
		r := x.function.reach
		r.focus = r.focus && len(x.args) <= x.function.required
		return r.with(x.args...)
	}
	return reach{focus: true, outside: true}
}
