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
	known            int32 // the number of the name, 0 if names have none
}

// accepts reports whether a node on an axis passes.
func (t *nodeTest) accepts(tree Tree, at int32, n Node, a axis) bool {
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
	switch {
	case n.Kind != want:
		return false
	case t.anyName:
		return true
	case t.known > 0:
		return n.Known == t.known
	}
	name := tree.Name(at)
	return (t.anyLocal || string(name.Local) == t.local) && (t.anyURI || name.Space == t.space)
}

// axisStep is a step along an axis.
type axisStep struct {
	axis       axis
	test       nodeTest
	predicates []expr
}

func (s *axisStep) eval(e *evaluation, f focus) sequence { return e.selectNodes(s, f) }

// appendNodes appends the nodes that the step selects from the context item.
func (s *axisStep) appendNodes(e *evaluation, f focus, dst []int32) []int32 {
	if f.at.typ != nodeItem {
		e.fail("XPTY0020", "a step needs a node as the context item, got one of type %v", f.at.typ)
		return dst
	}
	return s.from(e, int32(f.at.n), dst)
}

// from appends the nodes that the step selects from a node, in document order.
func (s *axisStep) from(e *evaluation, at int32, dst []int32) []int32 {
	before := len(dst)
	dst = s.walk(e, at, dst)
	if len(s.predicates) == 0 {
		return dst
	}
	found, room := dst[before:], e.room
	e.hold(nodeBytes * len(found)) // while the predicates are evaluated
	defer func() { e.room = room }()
	if s.axis.reverse() {
		slices.Reverse(found)
	}
	for _, p := range s.predicates {
		found = e.keepNodes(found, p)
	}
	if s.axis.reverse() {
		slices.Reverse(found)
	}
	return dst[:before+len(found)]
}

// walk appends the nodes of the axis that pass the test, in document order.
func (s *axisStep) walk(e *evaluation, at int32, dst []int32) []int32 {
	node := e.tree.Node(at)
	content := at + 1 + node.Attributes
	switch s.axis {
	case attributeAxis:
		return s.among(e, at+1, content, dst)
	case childAxis:
		return s.among(e, content, node.End, dst)
	}
	return s.along(e, at, node, dst)
}

// along is walk for the other axes.
func (s *axisStep) along(e *evaluation, at int32, node Node, dst []int32) []int32 {
	visit := func(i int32, n Node) bool {
		if s.test.accepts(e.tree, i, n, s.axis) {
			dst = append(dst, i)
		}
		return e.spend(1)
	}
	one := func(i int32) bool { return visit(i, e.tree.Node(i)) }
	switch s.axis {
	case descendantOrSelfAxis, descendantAxis:
		if s.axis == descendantOrSelfAxis {
			visit(at, node)
		}
		e.between(at+1+node.Attributes, node.End, visit)
	case selfAxis:
		visit(at, node)
	case parentAxis:
		if node.Parent >= 0 {
			one(node.Parent)
		}
	case ancestorAxis, ancestorOrSelfAxis:
		before := len(dst)
		for i := node.Parent; i >= 0 && one(i); i = e.tree.Node(i).Parent {
		}
		slices.Reverse(dst[before:])
		if s.axis == ancestorOrSelfAxis {
			visit(at, node)
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
		e.between(1, own, func(i int32, n Node) bool {
			if n.End > own { // an ancestor
				return e.spend(1)
			}
			return visit(i, n)
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
	return dst
}

// among appends the siblings from one to before another that pass the test.
func (s *axisStep) among(e *evaluation, from, to int32, dst []int32) []int32 {
	if s.test.principal && s.test.known > 0 {
		dst, visited := e.tree.Named(dst, from, to, s.test.known)
		e.spend(visited)
		return dst
	}
	for i := from; i < to && e.spend(1); {
		n := e.tree.Node(i)
		if s.test.accepts(e.tree, i, n, s.axis) {
			dst = append(dst, i)
		}
		i = n.End
	}
	return dst
}

// siblings visits nodes from one to before another, without what is below them.
func (e *evaluation) siblings(from, to int32, visit func(int32, Node) bool) {
	for i := from; i < to; {
		n := e.tree.Node(i)
		if !visit(i, n) {
			return
		}
		i = n.End
	}
}

// between visits nodes from one to before another, without attributes.
func (e *evaluation) between(from, to int32, visit func(int32, Node) bool) {
	for i := from; i < to; i++ {
		n := e.tree.Node(i)
		if n.Kind == Attribute {
			if !e.spend(1) {
				return
			}
			continue
		}
		if !visit(i, n) {
			return
		}
	}
}

// path is expressions with slashes between, of which one is not a step along an axis.
type path struct {
	absolute bool
	steps    []expr
}

func (p *path) eval(e *evaluation, f focus) sequence {
	current := e.unit(f.at)
	if p.absolute {
		if f.at.typ != nodeItem {
			return e.fail("XPDY0050", "/ needs a node as the context item, got one of type %v", f.at.typ)
		}
		current = e.unit(nodeAt(0))
	} else if len(p.steps) > 0 {
		current = e.value(p.steps[0], f)
		current = e.stepResult(current, len(p.steps) == 1)
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
	var out sequence
	for i, v := range context {
		if v.typ != nodeItem {
			return e.fail("XPTY0019", "expected nodes before /, got an item of type %v", v.typ)
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
		return e.fail("XPTY0019", "expected nodes before /, got an item of type %v", s[0].typ)
	}
	return s
}
