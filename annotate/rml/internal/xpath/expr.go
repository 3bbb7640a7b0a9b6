package xpath

import (
	"cmp"
	"slices"
)

// constant is a literal.
type constant struct{ value sequence }

func (c *constant) eval(*evaluation, focus) sequence { return c.value }

// variable is a reference to a variable.
type variable struct{ slot int }

func (v *variable) eval(e *evaluation, _ focus) sequence { return e.vars[v.slot] }

// contextItem is the expression . (a full stop).
type contextItem struct{}

func (contextItem) eval(e *evaluation, f focus) sequence { return e.unit(f.at) }

// list is expressions with commas between.
type list struct{ of []expr }

func (l *list) eval(e *evaluation, f focus) sequence {
	var out sequence
	for _, x := range l.of {
		v := e.value(x, f)
		if !e.holdItems(len(v)) {
			return nil
		}
		out = append(out, v...)
	}
	return out
}

// span is a range of integers.
type span struct{ from, to expr }

func (s *span) eval(e *evaluation, f focus) sequence {
	from, ok := e.integerOperand(e.value(s.from, f))
	to, ok2 := e.integerOperand(e.value(s.to, f))
	if !ok || !ok2 || from > to {
		return nil
	}
	var out sequence
	for n := from; ; n++ {
		if !e.holdItems(1) {
			return nil
		}
		out = append(out, integral(n))
		if n == to {
			return out
		}
	}
}

// integerOperand converts an operand of a range.
func (e *evaluation) integerOperand(s sequence) (int64, bool) {
	v, ok := e.optional(s, "to")
	if ok && v.typ == untyped {
		v = e.cast(v, integer)
	}
	if e.compatible {
		v = wholeNumber(v)
	}
	if ok && e.err == nil && v.typ != integer {
		e.fail("XPTY0004", "an operand of to is of type %v, expected an integer", v.typ)
	}
	return v.n, ok && e.err == nil
}

// logical is and, or or.
type logical struct {
	or          bool
	left, right expr
}

func (l *logical) eval(e *evaluation, f focus) sequence { return aTruth(l.holds(e, f)) }

func (l *logical) holds(e *evaluation, f focus) bool {
	if left := e.test(l.left, f); left == l.or {
		return left
	}
	return e.test(l.right, f)
}

// concatenation is the operator ||.
type concatenation struct{ left, right expr }

func (c *concatenation) eval(e *evaluation, f focus) sequence {
	left, _ := e.optional(e.value(c.left, f), "||")
	right, _ := e.optional(e.value(c.right, f), "||")
	return e.countedText(e.text(left) + e.text(right))
}

// condition is if, then and else.
type condition struct{ test, then, otherwise expr }

func (c *condition) eval(e *evaluation, f focus) sequence {
	if e.test(c.test, f) {
		return e.value(c.then, f)
	}
	return e.value(c.otherwise, f)
}

// binding is for or let with one variable.
type binding struct {
	each    bool
	slot    int
	of, ret expr
}

func (b *binding) eval(e *evaluation, f focus) sequence {
	values := e.value(b.of, f)
	if !b.each {
		e.vars[b.slot] = values
		return e.value(b.ret, f)
	}
	var out sequence
	for i := range values {
		room := e.room
		e.vars[b.slot] = values[i : i+1 : i+1]
		result := e.value(b.ret, f)
		if !e.spend(1) || !e.keepOnly(room, result) {
			return nil
		}
		out = append(out, result...)
	}
	return out
}

// quantified is some or every with one variable.
type quantified struct {
	every    bool
	slot     int
	of, test expr
}

func (q *quantified) eval(e *evaluation, f focus) sequence {
	values := e.value(q.of, f)
	room, units := e.room, e.units
	for i := range values {
		e.room = room
		e.rewind(units)
		e.vars[q.slot] = values[i : i+1 : i+1]
		if e.test(q.test, f) != q.every {
			return aTruth(!q.every)
		}
		if !e.spend(1) {
			return nil
		}
	}
	return aTruth(q.every)
}

// simpleMap is the operator !.
type simpleMap struct{ left, right expr }

func (m *simpleMap) eval(e *evaluation, f focus) sequence {
	var out sequence
	left := e.value(m.left, f)
	for i, v := range left {
		room := e.room
		result := e.value(m.right, focus{v, int64(i + 1), int64(len(left))})
		if !e.spend(1) || !e.keepOnly(room, result) {
			return nil
		}
		out = append(out, result...)
	}
	return out
}

// The operators on sets of nodes.
const (
	unionOf = iota
	intersectOf
	exceptOf
)

// setOperation is union, intersect or except.
type setOperation struct {
	operator    int
	left, right expr
}

func (s *setOperation) eval(e *evaluation, f focus) sequence {
	left, right := e.nodeSet(e.value(s.left, f)), e.nodeSet(e.value(s.right, f))
	if e.err != nil {
		return nil
	}
	if !e.holdItems(len(left) + len(right)) {
		return nil
	}
	if s.operator == unionOf {
		return e.nodeSet(slices.Concat(left, right))
	}
	var out sequence
	for _, l := range left {
		_, found := slices.BinarySearchFunc(right, l, compareNodes)
		if found == (s.operator == intersectOf) {
			out = append(out, l)
		}
	}
	return out
}

// compareNodes orders nodes by their place in the document.
func compareNodes(a, b item) int { return cmp.Compare(a.n, b.n) }

// nodeSet returns the nodes of a sequence in document order, each once.
func (e *evaluation) nodeSet(s sequence) sequence {
	if !e.spend(len(s)) {
		return nil
	}
	sorted := true
	for i := range s {
		if s[i].typ != nodeItem {
			return e.fail("XPTY0004", "expected nodes, got an item of type %v", s[i].typ)
		}
		sorted = sorted && (i == 0 || s[i-1].n < s[i].n)
	}
	if sorted || !e.hold(len(s)*itemBytes) {
		return s
	}
	s = slices.Clone(s)
	slices.SortFunc(s, compareNodes)
	return slices.CompactFunc(s, func(a, b item) bool { return a.n == b.n })
}

// filter is an expression with predicates.
type filter struct {
	of         expr
	predicates []expr
}

func (x *filter) eval(e *evaluation, f focus) sequence {
	v := e.value(x.of, f)
	for _, p := range x.predicates {
		v = e.keep(v, p)
	}
	return v
}

// keep returns the items for which a predicate holds.
func (e *evaluation) keep(s sequence, predicate expr) sequence {
	if n, ok := position(predicate, len(s)); ok {
		if n >= 1 && n <= int64(len(s)) {
			return s[n-1 : n : n]
		}
		return nil
	}
	var out sequence
	room, units := e.room, e.units
	for i, v := range s {
		kept := e.holds(predicate, focus{v, int64(i + 1), int64(len(s))})
		e.rewind(units)
		if e.err != nil {
			return nil
		}
		if e.room = room; kept {
			if !e.hold(itemBytes) {
				return nil
			}
			room = e.room
			out = append(out, v)
		}
	}
	return out
}
