package xmldoc

import "slices"

// The axes. The plain ones come first, and have the values of those of step.
const (
	child            = childAxis
	attribute        = attributeAxis
	self             = selfAxis
	parent           = parentAxis
	descendant uint8 = iota
	descendantOrSelf
	ancestor
	ancestorOrSelf
	following
	followingSibling
	preceding
	precedingSibling
)

// axisNames are the axes by name.
var axisNames = map[string]uint8{
	"child": child, "attribute": attribute, "self": self, "parent": parent,
	"descendant": descendant, "descendant-or-self": descendantOrSelf,
	"ancestor": ancestor, "ancestor-or-self": ancestorOrSelf,
	"following": following, "following-sibling": followingSibling,
	"preceding": preceding, "preceding-sibling": precedingSibling,
}

// commentTest is a node test that plain steps do not have.
const commentTest = nodeTest + 1

// fullStep is a step of any axis with any predicates.
type fullStep struct {
	axis, test   uint8
	known, space int32
	predicates   []expression
}

// location is a location path, from the context, the root, or the nodes of
// another expression.
type location struct {
	absolute bool
	from     expression
	steps    []fullStep
}

func (*location) kind() kind { return nodeSet }

// maxRepeats is how often a node may be in a list, on average, before repeated nodes are
// removed from it.
const maxRepeats = 2

// evaluate applies the steps and keeps the set in document order.
func (l *location) evaluate(d *Document, f focus) value {
	set := []int32{f.at}
	if l.absolute {
		set[0] = 0
	} else if l.from != nil {
		set = l.from.evaluate(d, f).nodes
	}
	for i := range l.steps {
		var next, found []int32
		for _, at := range set {
			found = l.steps[i].apply(d, found[:0], at)
			if next = append(next, found...); len(next) > maxRepeats*len(d.nodes) {
				slices.Sort(next)
				next = slices.Compact(next)
			}
		}
		slices.Sort(next)
		set = slices.Compact(next)
	}
	return value{kind: nodeSet, nodes: set}
}

// apply appends what the step selects from a node, in the order of the axis.
func (s *fullStep) apply(d *Document, dst []int32, at int32) []int32 {
	dst = s.walk(d, dst, at)
	for _, p := range s.predicates {
		dst = keep(d, dst, p)
	}
	return dst
}

// keep returns the nodes for which a predicate holds, in the array of nodes.
func keep(d *Document, nodes []int32, predicate expression) []int32 {
	kept := nodes[:0]
	size := len(nodes)
	for i, at := range nodes {
		d.spend(1)
		v := predicate.evaluate(d, focus{at, i + 1, size})
		if v.kind == number && v.number == float64(i+1) || v.kind != number && v.boolean(d) {
			kept = append(kept, at)
		}
	}
	return kept
}

// walk appends the nodes of the axis that pass the test.
func (s *fullStep) walk(d *Document, dst []int32, at int32) []int32 {
	n := &d.nodes[at]
	visit := func(i int32) {
		d.spend(1)
		if s.accepts(&d.nodes[i]) {
			dst = append(dst, i)
		}
	}
	content := at + 1 + int32(n.attrs)
	switch s.axis {
	case attribute:
		for i := at + 1; i < content; i++ {
			visit(i)
		}
	case child:
		for i := content; i < n.end; i = d.nodes[i].end {
			visit(i)
		}
	case descendantOrSelf, descendant:
		if s.axis == descendantOrSelf {
			visit(at)
		}
		d.between(content, n.end, visit)
	case self:
		visit(at)
	case parent:
		if at > 0 {
			visit(n.parent)
		}
	case ancestorOrSelf, ancestor:
		if s.axis == ancestorOrSelf {
			visit(at)
		}
		for i := n.parent; i >= 0; i = d.nodes[i].parent {
			visit(i)
		}
	case following:
		from := n.end
		if n.kind == attributeNode {
			e := &d.nodes[n.parent]
			from = n.parent + 1 + int32(e.attrs)
		}
		d.between(from, int32(len(d.nodes)), visit)
	case followingSibling:
		if n.kind != attributeNode && at > 0 {
			for i := n.end; i < d.nodes[n.parent].end; i = d.nodes[i].end {
				visit(i)
			}
		}
	case preceding, precedingSibling:
		before := len(dst)
		s.walkBack(d, n, at, visit)
		slices.Reverse(dst[before:])
	}
	return dst
}

// walkBack visits the nodes on a preceding axis, in document order.
func (s *fullStep) walkBack(d *Document, n *node, at int32, visit func(int32)) {
	if s.axis == precedingSibling {
		if n.kind != attributeNode && at > 0 {
			for i := n.parent + 1 + int32(d.nodes[n.parent].attrs); i < at; i = d.nodes[i].end {
				visit(i)
			}
		}
		return
	}
	d.between(1, at, func(i int32) {
		if d.nodes[i].end <= at && i != n.parent { // not an ancestor
			visit(i)
		}
	})
}

// between visits the nodes from one index to another, attributes left out.
func (d *Document) between(from, to int32, visit func(int32)) {
	for i := from; i < to; i++ {
		if d.nodes[i].kind == attributeNode {
			d.spend(1)
			continue
		}
		visit(i)
	}
}

// accepts reports whether a node on the axis passes the test.
func (s *fullStep) accepts(n *node) bool {
	principal := elementNode
	if s.axis == attribute {
		principal = attributeNode
	}
	switch s.test {
	case nameTest:
		return n.known == s.known && n.kind == principal
	case starTest:
		return n.kind == principal
	case spaceTest:
		return n.space == s.space && n.kind == principal
	case textTest:
		return n.kind == textNode
	case commentTest:
		return n.kind == commentNode
	}
	return true
}
