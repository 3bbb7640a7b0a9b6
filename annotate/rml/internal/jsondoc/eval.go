package jsondoc

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// stepLimit and stepsPerNode bound the work of one evaluation: a step is a node
// visited by a selector or by a comparison. Chained descendant segments and
// queries within filters can multiply far beyond the size of the document.
const (
	stepLimit    = 1 << 24
	stepsPerNode = 16
	// bytesPerStep is the number of bytes that are compared or matched for one
	// step.
	bytesPerStep = 16
)

// ErrTooCostly is the error of an evaluation that visited too many nodes: more
// than 16,777,216 plus 16 for every node of the document.
var ErrTooCostly = fmt.Errorf("jsondoc: path looks at too many nodes: %w", input.ErrLimit)

// Select appends the nodes that the path selects when "$" is the given node,
// in the order of RFC 9535. Unlike Records and Values it takes any path, also
// one that no compiler of this format created.
func (d *Document) Select(dst []input.Node, from input.Node, p *Path) ([]input.Node, error) {
	if !d.has(from) {
		return dst, missing(p, from)
	}
	d.use(p)
	if p.query.singular {
		if n := d.follow(from, p.query.steps); n != noNode {
			dst = append(dst, n)
		}
		return dst, nil
	}
	base := len(d.list)
	err := d.run(p, from)
	if err == nil {
		dst = append(dst, d.list[base:]...)
	}
	d.list = d.list[:base]
	return dst, err
}

// run evaluates a path, leaving its nodes on top of the list.
func (d *Document) run(p *Path, from input.Node) error {
	d.steps = stepLimit + stepsPerNode*len(d.tape)
	d.nodes(&p.query, from, from)
	d.listPeak = max(d.listPeak, len(d.list))
	if d.steps < 0 {
		return fmt.Errorf("evaluate %q at %q: %w", p.expr, d.Place(from), ErrTooCostly)
	}
	return nil
}

// spend takes steps from the limit and reports whether there were enough.
func (d *Document) spend(steps int) bool {
	d.steps -= steps
	return d.steps >= 0
}

// use prepares for a path. The slots of its names are valid only for documents
// of the compiler that assigned them.
func (d *Document) use(p *Path) {
	d.slots = 0
	if p.owner == d.owner {
		d.slots = d.shapes.stride
	}
}

// follow walks the steps of a singular query and returns its node, or noNode.
func (d *Document) follow(n input.Node, steps []selector) input.Node {
	for i := range steps {
		s := &steps[i]
		if s.kind == selectName {
			n = d.member(n, s)
		} else {
			n = d.element(n, s.start)
		}
		if n == noNode {
			return noNode
		}
	}
	return n
}

// element returns the element at an index, counted from the end when the
// index is negative, or noNode.
func (d *Document) element(array input.Node, index int64) input.Node {
	t := &d.tape[array]
	if t.kind != input.Array {
		return noNode
	}
	if index < 0 {
		index += int64(d.size(array))
		if index < 0 {
			return noNode
		}
	}
	c, end := array+1, input.Node(t.next)
	for ; c < end && index > 0; index-- {
		c = input.Node(d.tape[c].next)
		d.steps--
	}
	if c < end {
		return c
	}
	return noNode
}

// size returns the number of children.
func (d *Document) size(n input.Node) int {
	count := 0
	for c, end := n+1, input.Node(d.tape[n].next); c < end; c = input.Node(d.tape[c].next) {
		count++
	}
	d.steps -= count
	return count
}

// nodes evaluates a query and leaves its nodes on top of the list. The list is
// a stack: each segment reads the nodes of the one before it and writes its
// own above them.
func (d *Document) nodes(q *query, root, current input.Node) {
	from := current
	if q.absolute {
		from = root
	}
	base := len(d.list)
	d.list = append(d.list, from)
	low := base
	for i := range q.segments {
		s := &q.segments[i]
		high := len(d.list)
		for at := low; at < high && d.steps >= 0; at++ {
			n := d.list[at]
			if len(d.list) > d.maxNodes {
				d.steps = -1 // the list would take more memory than nodes may
			}
			if !s.descendant {
				d.children(s, n, root)
				continue
			}
			for end := input.Node(d.tape[n].next); n < end && d.spend(1); n++ {
				if d.tape[n].kind >= input.Object {
					d.children(s, n, root)
				}
			}
		}
		low = high
	}
	d.listPeak = max(d.listPeak, len(d.list))
	d.list = d.list[:base+copy(d.list[base:], d.list[low:])]
}

// children applies the selectors of a segment to one node.
func (d *Document) children(s *segment, n, root input.Node) {
	for i := range s.selectors {
		sel := &s.selectors[i]
		switch sel.kind {
		case selectName:
			d.push(d.member(n, sel))
		case selectIndex:
			d.push(d.element(n, sel.start))
		case selectSlice:
			d.slice(n, sel)
		default:
			d.each(n, sel, root)
		}
	}
}

func (d *Document) push(n input.Node) {
	if n != noNode {
		d.list = append(d.list, n)
	}
}

// each selects all children, or those for which the filter holds.
func (d *Document) each(n input.Node, s *selector, root input.Node) {
	if d.tape[n].kind < input.Object {
		return
	}
	for c, end := n+1, input.Node(d.tape[n].next); c < end && d.spend(1); c = input.Node(d.tape[c].next) {
		if s.filter == nil || d.test(s.filter, root, c) {
			d.list = append(d.list, c)
		}
	}
}

// slice selects elements as RFC 9535 section 2.3.4.2 defines.
func (d *Document) slice(n input.Node, s *selector) {
	if d.tape[n].kind != input.Array || s.step == 0 {
		return
	}
	size := int64(d.size(n))
	if !d.spend(1) {
		return
	}
	normal := func(i int64) int64 {
		if i < 0 {
			return i + size
		}
		return i
	}
	if s.step > 0 {
		lower, upper := int64(0), size
		if s.hasStart {
			lower = min(max(normal(s.start), 0), size)
		}
		if s.hasEnd {
			upper = min(max(normal(s.end), 0), size)
		}
		d.forward(n, lower, upper, s.step)
		return
	}
	upper, lower := size-1, int64(-1)
	if s.hasStart {
		upper = min(max(normal(s.start), -1), size-1)
	}
	if s.hasEnd {
		lower = min(max(normal(s.end), -1), size-1)
	}
	if upper <= lower {
		return
	}
	// Backwards: the same elements forward, then reversed.
	step := -max(s.step, -size-1)
	base := len(d.list)
	d.forward(n, upper-(upper-lower-1)/step*step, upper+1, step)
	for i, j := base, len(d.list)-1; i < j; i, j = i+1, j-1 {
		d.list[i], d.list[j] = d.list[j], d.list[i]
	}
}

// forward selects the elements lower, lower+step, ... below upper.
func (d *Document) forward(n input.Node, lower, upper, step int64) {
	next := lower
	index := int64(0)
	for c, end := n+1, input.Node(d.tape[n].next); c < end && index < upper; c = input.Node(d.tape[c].next) {
		if index == next {
			d.list = append(d.list, c)
			if step > upper-next {
				return
			}
			next += step
		}
		index++
	}
}

// test evaluates a filter expression for the current node.
func (d *Document) test(l *logical, root, current input.Node) bool {
	switch l.kind {
	case logicalOr:
		for _, t := range l.terms {
			if d.test(t, root, current) {
				return true
			}
		}
		return false
	case logicalAnd:
		for _, t := range l.terms {
			if !d.test(t, root, current) {
				return false
			}
		}
		return true
	case logicalNot:
		return !d.test(l.terms[0], root, current)
	case logicalExists:
		if l.query.singular {
			return d.single(l.query, root, current) != noNode
		}
		base := len(d.list)
		d.nodes(l.query, root, current)
		some := len(d.list) > base
		d.list = d.list[:base]
		return some
	case logicalJayway:
		return d.jaywayTest(l, root, current)
	case logicalCall:
		return l.call.function.value(d, l.call, root, current).truth
	}
	return d.holds(l.comparison, d.operand(&l.left, root, current), d.operand(&l.right, root, current))
}

// single evaluates a singular query.
func (d *Document) single(q *query, root, current input.Node) input.Node {
	if q.absolute {
		current = root
	}
	if !d.spend(len(q.steps)) {
		return noNode
	}
	return d.follow(current, q.steps)
}

// operand evaluates one side of a comparison or an argument.
func (d *Document) operand(o *operand, root, current input.Node) value {
	switch o.kind {
	case operandQuery:
		return d.decode(d.single(o.query, root, current))
	case operandCall:
		return o.call.function.value(d, o.call, root, current)
	}
	return o.literal
}
