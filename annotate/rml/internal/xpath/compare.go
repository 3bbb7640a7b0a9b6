package xpath

import (
	"cmp"
	"strings"
)

// The comparison operators, by what results of a comparison they accept.
var comparisons = map[string]comparison{
	"=": {equal: true}, "!=": {less: true, greater: true, unordered: true},
	"<": {less: true}, "<=": {less: true, equal: true}, ">": {greater: true}, ">=": {greater: true, equal: true},
	"eq": {equal: true}, "ne": {less: true, greater: true, unordered: true},
	"lt": {less: true}, "le": {less: true, equal: true}, "gt": {greater: true}, "ge": {greater: true, equal: true},
}

// comparison is the results of a comparison for which an operator holds.
type comparison struct{ less, equal, greater, unordered bool }

// ordered reports whether the operator needs an order.
func (c comparison) ordered() bool { return c.less != c.greater }

// holds applies the operator to the result of a comparison.
func (c comparison) holds(order int, nan bool) bool {
	switch {
	case nan:
		return c.unordered
	case order < 0:
		return c.less
	case order > 0:
		return c.greater
	}
	return c.equal
}

// valueComparison is eq and its like, between two values.
type valueComparison struct {
	name        string
	left, right expr
}

func (c *valueComparison) eval(e *evaluation, f focus) sequence {
	left, ok := e.single(e.value(c.left, f), c.name)
	right, ok2 := e.single(e.value(c.right, f), c.name)
	if !ok || !ok2 || e.err != nil {
		return nil
	}
	return aTruth(e.compare(comparisons[c.name], asString(left), asString(right)))
}

// asString converts an untyped value to a string.
func asString(i item) item {
	if i.typ == untyped {
		i.typ = stringAtom
	}
	return i
}

// generalComparison is = and its like: whether it holds between any two items.
type generalComparison struct {
	operator    comparison
	left, right expr
}

func (c *generalComparison) eval(e *evaluation, f focus) sequence { return aTruth(c.holds(e, f)) }

func (c *generalComparison) holds(e *evaluation, f focus) bool {
	operator := c.operator
	if k, ok := c.right.(*constant); ok && len(k.value) == 1 && (e.compatible || k.value[0].typ == stringAtom) {
		if x, ok := asNodes(c.left); ok {
			return e.anyNode(x, f, operator, k.value[0])
		}
	}
	left, right := e.value(c.left, f), e.value(c.right, f)
	if e.compatible {
		left, right = e.compatibleOperands(left, right, operator.ordered())
	}
	left, right = e.atomize(left), e.atomize(right)
	if e.err != nil {
		return false
	}
	if operator == (comparison{equal: true}) && len(left) > 4 && len(right) > 4 && allTexts(left) && allTexts(right) {
		return e.anyEqual(left, right)
	}
	for _, l := range left {
		for _, r := range right {
			if !e.spend(1) {
				return false
			}
			x, y := e.general(l, r)
			if e.err == nil && e.compare(operator, x, y) {
				return true
			}
		}
	}
	return false
}

// anyNode reports whether an operator holds between any of the nodes of an expression and a literal.
func (e *evaluation) anyNode(x nodeExpr, f focus, operator comparison, literal item) bool {
	nodes := x.appendNodes(e, f, e.buffer())
	defer e.release(nodes)
	asNumbers := e.compatible && (operator.ordered() || literal.typ.numeric())
	if asNumbers {
		literal = e.number(literal)
	}
	for _, n := range nodes {
		text := e.tree.Value(n)
		if !e.spendText(len(text)) {
			return false
		}
		v := item{typ: stringAtom}
		switch {
		case asNumbers:
			v = dbl(e.textNumber(string(text)))
		case !operator.ordered():
			if (string(text) == literal.s) == operator.equal {
				return true
			}
			continue
		default:
			v.s = string(text)
		}
		if e.compare(operator, v, literal) {
			return true
		}
	}
	return false
}

// allTexts reports whether all items compare as strings.
func allTexts(s sequence) bool {
	for i := range s {
		if !s[i].typ.textual() {
			return false
		}
	}
	return true
}

// entryBytes is the memory of an entry of a table, besides its text.
const entryBytes = 64

// anyEqual reports whether two sequences of texts have one in common.
func (e *evaluation) anyEqual(left, right sequence) bool {
	known := map[string]struct{}{}
	for _, l := range left {
		if !e.spend(2+len(l.s)/bytesPerStep) || !e.hold(entryBytes) {
			return false
		}
		known[l.s] = struct{}{}
	}
	for _, r := range right {
		if !e.spend(1 + len(r.s)/bytesPerStep) {
			return false
		}
		if _, ok := known[r.s]; ok {
			return true
		}
	}
	return false
}

// general converts what is untyped to the type of the other operand (section 3.7.2 of XPath 3.1).
func (e *evaluation) general(x, y item) (item, item) {
	to := func(v item, other atom) item {
		switch {
		case e.compatible && other.numeric():
			return e.number(v)
		case v.typ != untyped:
			return v
		case other.numeric():
			return e.cast(v, double)
		case other.textual():
			return asString(v)
		}
		return e.cast(v, other)
	}
	return to(x, y.typ), to(y, x.typ)
}

// compare applies an operator to two atomic values.
func (e *evaluation) compare(operator comparison, x, y item) bool {
	if !e.spend(min(len(x.s), len(y.s)) / bytesPerStep) {
		return false
	}
	order, nan, ok := order(x, y, operator.ordered())
	if !ok {
		e.fail("XPTY0004", "values of types %v and %v cannot be compared", x.typ, y.typ)
		return false
	}
	return operator.holds(order, nan)
}

// order compares two atomic values. NaN is unordered. It reports false for values that cannot be
// compared; durations, for one, are equal or not, unless they are of months or of seconds only.
func order(x, y item, ordered bool) (order int, nan, ok bool) {
	switch {
	case x.typ.textual() && y.typ.textual():
		return strings.Compare(x.s, y.s), false, true
	case x.typ.numeric() && y.typ.numeric():
		order, nan = orderNumbers(x, y)
		return order, nan, true
	case x.typ == boolean && y.typ == boolean:
		return cmp.Compare(x.n, y.n), false, true
	case x.typ == y.typ && x.typ >= dateAtom && x.typ <= dateTime:
		return x.t.Compare(y.t), false, true
	case x.typ >= duration && x.typ <= dayTime && y.typ >= duration && y.typ <= dayTime:
		if ordered && (x.typ != y.typ || x.typ == duration) {
			return 0, false, false
		}
		return cmp.Or(cmp.Compare(x.n, y.n), cmp.Compare(x.span, y.span)), false, true
	case x.typ == qname && y.typ == qname && !ordered:
		return strings.Compare(x.s, y.s), false, true
	}
	return 0, false, false
}

// orderNumbers compares two numbers.
func orderNumbers(x, y item) (order int, nan bool) {
	switch {
	case x.typ == integer && y.typ == integer:
		return cmp.Compare(x.n, y.n), false
	case x.typ <= decimal && y.typ <= decimal:
		return x.rat().Cmp(y.rat()), false
	}
	a, b := x.float(), y.float()
	if a != a || b != b {
		return 0, true
	}
	return cmp.Compare(a, b), false
}

// nodeComparison is "is", << or >>.
type nodeComparison struct {
	operator    string
	left, right expr
}

func (c *nodeComparison) eval(e *evaluation, f focus) sequence {
	left, right := e.value(c.left, f), e.value(c.right, f)
	for _, s := range []sequence{left, right} {
		if len(s) > 1 || (len(s) == 1 && s[0].typ != nodeItem) {
			return e.fail("XPTY0004", "an operand of %s must be one node", c.operator)
		}
	}
	if len(left) == 0 || len(right) == 0 {
		return nil
	}
	switch l, r := left[0].n, right[0].n; c.operator {
	case "<<":
		return aTruth(l < r)
	case ">>":
		return aTruth(l > r)
	default:
		return aTruth(l == r)
	}
}
