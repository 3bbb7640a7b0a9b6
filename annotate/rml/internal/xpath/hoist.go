package xpath

import "slices"

// keptBytes is the memory for the values that an evaluator keeps of one tree. It is at most a quarter of
// [Limits].Bytes.
const keptBytes = 4 << 20

// hoisted is an expression whose value is the same everywhere in a tree, within one whose value is not, or
// that is evaluated again and again there. Its value is kept from evaluation to evaluation.
type hoisted struct {
	of   expr
	slot int
}

func (h *hoisted) eval(e *evaluation, f focus) sequence {
	if f.at.typ != nodeItem {
		return h.of.eval(e, f) // which is an error for a path
	}
	if k := &e.kept[h.slot]; k.known {
		return k.value
	}
	v := h.of.eval(e, f)
	e.keepValue(h.slot, v)
	return v
}

// hoistedNodes is a hoisted expression of nodes.
type hoistedNodes struct{ hoisted }

// appendNodes appends the nodes.
func (h *hoistedNodes) appendNodes(e *evaluation, f focus, dst []int32) []int32 {
	v := h.eval(e, f)
	if !e.spend(len(v)) {
		return dst
	}
	for _, n := range v {
		dst = append(dst, int32(n.n))
	}
	return dst
}

// keptValue is the value of a hoisted expression.
type keptValue struct {
	known bool
	value sequence
}

// keepValue keeps the value of a hoisted expression if there is room.
func (e *evaluation) keepValue(slot int, v sequence) {
	size := len(v) * itemBytes
	for i := range v {
		size += v[i].held()
	}
	if e.err != nil || size > e.keptRoom {
		return
	}
	e.keptRoom -= size
	e.kept[slot] = keptValue{true, slices.Clone(v)}
}

// hoister hoists parts of an expression.
type hoister struct {
	slots   int
	reaches reaches // before anything in the expression is hoisted
}

// inside hoists what is the same everywhere in an expression, but not the whole. Where the expression is
// hoisted itself, or its value is kept by the caller, only what is repeated in it is worth it.
func (h *hoister) inside(x expr, kept bool) {
	if l, ok := x.(*location); ok && l.absolute && h.reaches.of(x).variable > 0 {
		h.beginning(l)
	}
	for _, p := range operands(x) {
		r := h.reaches.of(*p.of)
		kept := kept && !p.repeated
		if r.sameEverywhere() && r.outside && !kept && !isRoot(*p.of) {
			kept = true
			*p.of = h.hoist(*p.of)
			h.inside(inner(*p.of), kept)
			continue
		}
		h.inside(*p.of, kept)
	}
}

// beginning hoists the first steps of a path, up to the one that depends on a variable.
func (h *hoister) beginning(l *location) {
	n := 0
	for n < len(l.steps) && h.reaches.of(l.steps[n]).variable == 0 {
		n++
	}
	for n > 0 && l.steps[n-1].axis == descendantOrSelfAxis {
		n-- // all nodes
	}
	if n == 0 {
		return
	}
	first := &location{absolute: true, steps: l.steps[:n:n]}
	h.inside(first, true)
	l.first = h.hoist(first).(*hoistedNodes)
	l.steps = l.steps[n:]
}

// hoist returns the hoisted expression.
func (h *hoister) hoist(x expr) expr {
	slot := h.slots
	h.slots++
	if _, ok := asNodes(x); ok {
		return &hoistedNodes{hoisted{x, slot}}
	}
	return &hoisted{x, slot}
}

// inner returns the expression that is hoisted.
func inner(x expr) expr {
	if h, ok := x.(*hoistedNodes); ok {
		return h.of
	}
	return x.(*hoisted).of
}

// isRoot reports whether an expression is / alone.
func isRoot(x expr) bool {
	l, ok := x.(*location)
	return ok && len(l.steps) == 0
}
