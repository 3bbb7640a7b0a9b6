package xpath

import "slices"

// axis is a direction from a node.
type axis uint8

// The axes.
const (
	childAxis axis = iota
	attributeAxis
	selfAxis
	parentAxis
	descendantAxis
	descendantOrSelfAxis
	ancestorAxis
	ancestorOrSelfAxis
	followingAxis
	followingSiblingAxis
	precedingAxis
	precedingSiblingAxis
	namespaceAxis
)

// axisNames are the axes by name.
var axisNames = map[string]axis{
	"child": childAxis, "attribute": attributeAxis, "self": selfAxis, "parent": parentAxis,
	"descendant": descendantAxis, "descendant-or-self": descendantOrSelfAxis,
	"ancestor": ancestorAxis, "ancestor-or-self": ancestorOrSelfAxis,
	"following": followingAxis, "following-sibling": followingSiblingAxis,
	"preceding": precedingAxis, "preceding-sibling": precedingSiblingAxis,
	"namespace": namespaceAxis,
}

// reverse reports whether positions on the axis count against document order.
func (a axis) reverse() bool {
	return a == ancestorAxis || a == ancestorOrSelfAxis || a == precedingAxis || a == precedingSiblingAxis || a == parentAxis
}

// nodeTest selects nodes by kind and name.
type nodeTest struct {
	any              bool // any kind
	none             bool // a kind of node that documents here do not have
	principal        bool // the kind of the axis: attributes or elements
	kind             Kind
	anyName          bool
	anyLocal, anyURI bool
	local, space     string
}

// accepts reports whether a node on an axis passes.
func (t *nodeTest) accepts(tree Tree, n int32, kind Kind, a axis) bool {
	want := t.kind
	switch {
	case t.any:
		return true
	case t.none:
		return false
	case t.principal && a == attributeAxis:
		want = Attribute
	case t.principal:
		want = Element
	}
	if kind != want {
		return false
	}
	if t.anyName {
		return true
	}
	name := tree.Name(n)
	return (t.anyLocal || string(name.Local) == t.local) && (t.anyURI || name.Space == t.space)
}

// axisStep is a step along an axis.
type axisStep struct {
	axis       axis
	test       nodeTest
	predicates []expr
}

func (s *axisStep) eval(e *evaluation, f focus) sequence {
	if f.at.typ != nodeItem {
		return e.fail("XPTY0020", "a step stands where the context item is of type %v, expected a node", f.at.typ)
	}
	found := s.walk(e, int32(f.at.n))
	if s.axis.reverse() && len(s.predicates) > 0 {
		slices.Reverse(found)
	}
	for _, p := range s.predicates {
		found = e.keep(found, p)
	}
	if s.axis.reverse() && len(s.predicates) > 0 && e.hold(len(found)*itemBytes) {
		found = slices.Clone(found)
		slices.Reverse(found)
	}
	return found
}

// walk returns the nodes of the axis that pass the test, in document order.
func (s *axisStep) walk(e *evaluation, at int32) sequence {
	var out sequence
	node := e.tree.Node(at)
	visit := func(i int32) bool {
		if !e.spend(1) {
			return false
		}
		if !s.test.accepts(e.tree, i, e.tree.Node(i).Kind, s.axis) {
			return true
		}
		out = append(out, nodeAt(i))
		return e.hold(itemBytes)
	}
	content := at + 1 + node.Attributes
	switch s.axis {
	case attributeAxis:
		for i := at + 1; i < content && visit(i); i++ {
		}
	case childAxis:
		e.siblings(content, node.End, visit)
	case descendantOrSelfAxis, descendantAxis:
		if s.axis == descendantOrSelfAxis {
			visit(at)
		}
		e.between(content, node.End, visit)
	case selfAxis:
		visit(at)
	case parentAxis:
		if node.Parent >= 0 {
			visit(node.Parent)
		}
	case ancestorAxis, ancestorOrSelfAxis:
		for i := node.Parent; i >= 0 && visit(i); i = e.tree.Node(i).Parent {
		}
		slices.Reverse(out)
		if s.axis == ancestorOrSelfAxis {
			visit(at)
		}
	case followingAxis:
		from := node.End
		if node.Kind == Attribute {
			from = node.Parent + 1 + e.tree.Node(node.Parent).Attributes
		}
		e.between(from, e.tree.Len(), visit)
	case precedingAxis:
		own := at
		if node.Kind == Attribute {
			own = node.Parent
		}
		e.between(1, own, func(i int32) bool {
			if e.tree.Node(i).End > own { // an ancestor
				return e.spend(1)
			}
			return visit(i)
		})
	case followingSiblingAxis:
		if node.Kind != Attribute && node.Parent >= 0 {
			e.siblings(node.End, e.tree.Node(node.Parent).End, visit)
		}
	case precedingSiblingAxis:
		if node.Kind != Attribute && node.Parent >= 0 {
			e.siblings(node.Parent+1+e.tree.Node(node.Parent).Attributes, at, visit)
		}
	}
	return out
}

// siblings visits nodes from one to before another, without what is below them.
func (e *evaluation) siblings(from, to int32, visit func(int32) bool) {
	for i := from; i < to && visit(i); i = e.tree.Node(i).End {
	}
}

// between visits nodes from one to before another, without attributes.
func (e *evaluation) between(from, to int32, visit func(int32) bool) {
	for i := from; i < to; i++ {
		if e.tree.Node(i).Kind == Attribute {
			if !e.spend(1) {
				return
			}
			continue
		}
		if !visit(i) {
			return
		}
	}
}

// path is expressions with slashes between.
type path struct {
	absolute bool
	steps    []expr
}

func (p *path) eval(e *evaluation, f focus) sequence {
	current := one(f.at)
	if p.absolute {
		if f.at.typ != nodeItem {
			return e.fail("XPDY0050", "/ stands where the context item is of type %v, expected a node", f.at.typ)
		}
		current = one(nodeAt(0))
	} else if len(p.steps) > 0 {
		current = e.value(p.steps[0], f)
		if step, ok := p.steps[0].(*axisStep); !ok || step.axis.reverse() {
			current = e.stepResult(current, len(p.steps) == 1)
		}
	}
	steps := p.steps
	if !p.absolute {
		steps = steps[1:]
	}
	for i, step := range steps {
		current = e.applyStep(step, current, i == len(steps)-1)
	}
	return current
}

// applyStep evaluates a step at each node.
func (e *evaluation) applyStep(step expr, context sequence, last bool) sequence {
	if s, ok := step.(*axisStep); ok && s.axis == descendantAxis && len(s.predicates) == 0 {
		if !e.hold(len(context) * itemBytes) {
			return nil
		}
		context = outermost(e.tree, context)
	}
	var out sequence
	for i, v := range context {
		if v.typ != nodeItem {
			return e.fail("XPTY0019", "an item of type %v stands before /, expected nodes", v.typ)
		}
		room := e.room
		found := e.value(step, focus{v, int64(i + 1), int64(len(context))})
		if !e.spend(1) || !e.keepOnly(room, found) {
			return nil
		}
		out = append(out, found...)
	}
	return e.stepResult(out, last)
}

// outermost returns the nodes that are within no other of the nodes, which are in document order.
func outermost(tree Tree, nodes sequence) sequence {
	var out sequence
	end := int32(-1)
	for _, n := range nodes {
		if n.typ == nodeItem && int32(n.n) < end {
			continue
		}
		out = append(out, n)
		if n.typ == nodeItem {
			end = tree.Node(int32(n.n)).End
		}
	}
	return out
}

// stepResult puts nodes into document order. Atomic values are allowed after the last slash.
func (e *evaluation) stepResult(s sequence, last bool) sequence {
	nodes := 0
	for i := range s {
		if s[i].typ == nodeItem {
			nodes++
		}
	}
	switch {
	case nodes == len(s):
		return e.nodeSet(s)
	case nodes > 0:
		return e.fail("XPTY0018", "a step selects both nodes and atomic values")
	case !last:
		return e.fail("XPTY0019", "an item of type %v stands before /, expected nodes", s[0].typ)
	}
	return s
}
