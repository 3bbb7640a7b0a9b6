package xmldoc

import "slices"

// selectNodes returns the nodes that a path selects from a node; those of plain
// steps in document order, each once. The slice is valid until the next call.
func (d *Document) selectNodes(p *path, at int32) ([]int32, error) {
	if p.full != nil {
		nodes, err := d.fullNodes(p, at, d.work[0][:0])
		d.work[0] = nodes
		return nodes, err
	}
	if p.absolute {
		at = 0
	}
	current := append(d.work[0][:0], at)
	next := d.work[1][:0]
	for i := range p.steps {
		s := &p.steps[i]
		next = d.apply(s, next[:0], current)
		if s.sort {
			slices.Sort(next)
			next = slices.Compact(next)
		}
		current, next = next, current
	}
	d.work[0], d.work[1] = current, next
	return current, nil
}

// apply appends what a step selects from the nodes of a context.
func (d *Document) apply(s *step, dst, context []int32) []int32 {
	if !s.deep {
		for _, at := range context {
			dst = d.applyOne(s, dst, at)
		}
		return dst
	}
	done := int32(0) // the end of the subtrees that were visited
	for _, at := range context {
		end := d.nodes[at].end
		if end <= done {
			continue
		}
		done = end
		if s.axis == childAxis && s.position == 0 {
			for i := at + 1; i < end; i++ {
				if n := &d.nodes[i]; n.kind != attributeNode && s.accepts(n) {
					dst = append(dst, i)
				}
			}
			continue
		}
		for i := at; i < end; i++ {
			if i == at || d.nodes[i].kind != attributeNode {
				dst = d.applyOne(s, dst, i)
			}
		}
	}
	return dst
}

// applyOne appends what a step selects from a node.
func (d *Document) applyOne(s *step, dst []int32, at int32) []int32 {
	n := &d.nodes[at]
	switch s.axis {
	case selfAxis:
		return append(dst, at)
	case parentAxis:
		if n.parent >= 0 {
			dst = append(dst, n.parent)
		}
		return dst
	}
	i, end := at+1, at+1+int32(n.attrs)
	if s.axis == childAxis {
		i, end = end, n.end
	}
	nodes := d.nodes[:end]
	for position := 0; i < end; {
		c := &nodes[i]
		if s.accepts(c) {
			if position++; s.position == 0 {
				dst = append(dst, i)
			} else if position == s.position {
				return append(dst, i)
			}
		}
		i = c.end
	}
	return dst
}

// accepts reports whether a node on the axis of the step passes its test.
func (s *step) accepts(n *node) bool {
	switch s.test {
	case nameTest:
		return n.known == s.known
	case starTest:
		return n.kind == elementNode || n.kind == attributeNode
	case spaceTest:
		return n.space == s.space && (n.kind == elementNode || n.kind == attributeNode)
	case textTest:
		return n.kind == textNode
	}
	return true
}
