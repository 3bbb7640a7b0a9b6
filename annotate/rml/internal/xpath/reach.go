package xpath

// reach is what an expression depends on beside the expressions that it consists of.
type reach struct {
	focus   bool // the context item, or its position
	outside bool // nodes outside of the context item
}

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
		implied := contextual[x.name]
		return reach{focus: implied.uses && len(x.args) <= implied.args, outside: implied.outside}.with(x.args...)
	}
	return reach{focus: true, outside: true}
}

// contextual are the functions that depend on the context item: those that use it when they have at most so
// many arguments, and those that look outside of their argument.
var contextual = map[string]struct {
	uses, outside bool
	args          int
}{
	"position": {uses: true}, "last": {uses: true}, "string": {uses: true}, "string-length": {uses: true}, "normalize-space": {uses: true},
	"number": {uses: true}, "data": {uses: true}, "name": {uses: true}, "local-name": {uses: true}, "namespace-uri": {uses: true},
	"node-name": {uses: true}, "has-children": {uses: true}, "root": {uses: true, outside: true}, "path": {uses: true, outside: true},
	"generate-id": {uses: true, outside: true}, "lang": {uses: true, outside: true, args: 1}, "id": {uses: true, outside: true, args: 1},
}
