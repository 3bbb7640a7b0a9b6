package xpath

import "slices"

// nodeExpr is an expression whose value is nodes only, in document order and each once.
type nodeExpr interface {
	expr
	// appendNodes appends the nodes.
	appendNodes(e *evaluation, f focus, dst []int32) []int32
}

// asNodes returns an expression as one of nodes, if it is one.
func asNodes(x expr) (nodeExpr, bool) {
	switch x := x.(type) { // which is faster than to look for the methods
	case *axisStep:
		return x, true
	case *location:
		return x, true
	case *hoistedNodes:
		return x, true
	}
	return nil, false
}

// selectNodes returns the value of an expression of nodes.
func (e *evaluation) selectNodes(x nodeExpr, f focus) sequence {
	nodes := x.appendNodes(e, f, e.buffer())
	e.release(nodes)
	if !e.holdItems(len(nodes)) || len(nodes) == 0 {
		return nil
	}
	out := e.items(len(nodes))
	for i, n := range nodes {
		out[i].n = int64(n)
	}
	return out
}

// nodeBytes is the memory of a node in a list.
const nodeBytes = 4

// buffer returns an empty list of nodes.
func (e *evaluation) buffer() []int32 {
	if n := len(e.free); n > 0 {
		b := e.free[n-1]
		e.free = e.free[:n-1]
		return b
	}
	return make([]int32, 0, 8)
}

// release takes a list back.
func (e *evaluation) release(b []int32) { e.free = append(e.free, b[:0]) }

// location is a path of steps along axes.
type location struct {
	absolute bool
	first    *hoistedNodes // the steps before, nil for none
	steps    []*axisStep
}

func (l *location) eval(e *evaluation, f focus) sequence { return e.selectNodes(l, f) }

// appendNodes applies the steps.
func (l *location) appendNodes(e *evaluation, f focus, dst []int32) []int32 {
	if f.at.typ != nodeItem {
		code, what := "XPTY0020", "a step"
		if l.absolute {
			code, what = "XPDY0050", "/"
		}
		e.fail(code, "%s needs a node as the context item, got one of type %v", what, f.at.typ)
		return dst
	}
	current, next := e.buffer(), e.buffer()
	switch {
	case l.first != nil:
		current = l.first.appendNodes(e, f, current)
	case l.absolute:
		current = append(current, 0)
	default:
		current = append(current, int32(f.at.n))
	}
	room := e.room
	for _, step := range l.steps {
		e.hold(nodeBytes * len(current))
		next = e.step(step, current, next[:0])
		current, next = next, current
		e.room = room
	}
	dst = append(dst, current...)
	e.release(current)
	e.release(next)
	return dst
}

// maxRepeats is how often a node may be in a list, on average, before repeated nodes are removed from it.
const maxRepeats = 2

// step appends what a step selects from nodes, in document order and each once.
func (e *evaluation) step(s *axisStep, context, dst []int32) []int32 {
	deep := s.axis == descendantAxis && len(s.predicates) == 0
	room := e.room
	end := int32(0)
	sorted := true
	for _, at := range context {
		if deep {
			if at < end {
				continue // within the one before
			}
			end = e.tree.Node(at).End
		}
		before := len(dst)
		dst = s.from(e, at, dst)
		e.room = room
		if !e.spend(1) || !e.hold(nodeBytes*len(dst)) {
			return dst[:0]
		}
		sorted = sorted && (before == 0 || before == len(dst) || dst[before-1] < dst[before])
		if !sorted && len(dst) > maxRepeats*int(e.tree.Len()) {
			dst = ordered(dst)
			sorted = true
		}
	}
	if e.room = room; !sorted {
		dst = ordered(dst)
	}
	return dst
}

// ordered sorts nodes and removes those that repeat.
func ordered(nodes []int32) []int32 {
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// keepNodes keeps the nodes for which a predicate holds, in the array of nodes.
func (e *evaluation) keepNodes(nodes []int32, predicate expr) []int32 {
	if n, ok := position(predicate, len(nodes)); ok {
		if n < 1 || n > int64(len(nodes)) {
			return nodes[:0]
		}
		nodes[0] = nodes[n-1]
		return nodes[:1]
	}
	kept := nodes[:0]
	size := len(nodes)
	room := e.room
	units := e.units
	for i, at := range nodes {
		holds := e.holds(predicate, focus{nodeAt(at), int64(i + 1), int64(size)})
		e.rewind(units)
		if e.room = room; e.err != nil {
			return nodes[:0]
		}
		if holds {
			kept = append(kept, at)
		}
	}
	return kept
}

// position returns the position for which alone a predicate holds, if it is an integer or last().
func position(predicate expr, size int) (int64, bool) {
	switch p := predicate.(type) {
	case *constant:
		if len(p.value) == 1 && p.value[0].typ == integer {
			return p.value[0].n, true
		}
	case *call:
		return int64(size), p.name == "last"
	}
	return 0, false
}

// holds reports whether a predicate holds for a context item.
func (e *evaluation) holds(predicate expr, f focus) bool {
	switch predicate.(type) {
	case *generalComparison, *logical, *axisStep, *location, *hoistedNodes:
		return e.test(predicate, f)
	}
	v := e.value(predicate, f)
	if len(v) == 1 && v[0].typ.numeric() {
		return v[0].float() == float64(f.position)
	}
	return e.err == nil && e.truth(v)
}

// test returns the effective boolean value of an expression.
func (e *evaluation) test(x expr, f focus) bool {
	switch x := x.(type) {
	case *generalComparison:
		return e.spend(1) && x.holds(e, f)
	case *logical:
		return e.spend(1) && x.holds(e, f)
	case *hoistedNodes:
		return len(e.value(x, f)) > 0
	}
	if x, ok := asNodes(x); ok {
		nodes := x.appendNodes(e, f, e.buffer())
		e.release(nodes)
		return e.spend(1) && len(nodes) > 0
	}
	return e.truth(e.value(x, f))
}
