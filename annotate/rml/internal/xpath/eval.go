package xpath

import (
	"fmt"
	"time"
)

const (
	// leastSteps is the number of steps that an evaluation may take on any document.
	leastSteps = 1 << 18
	// stepsPerNode is the number of steps for each node of a large document.
	stepsPerNode = 32
	// bytesPerStep is how many bytes of text are made or read in one step.
	bytesPerStep = 32
)

// Expression is a compiled expression. It is immutable and safe for concurrent use.
type Expression struct {
	source string
	root   expr
	slots  int
	nodes  bool
}

// String returns the expression as it was written.
func (x *Expression) String() string { return x.source }

// SelectsNodes reports whether the value can be nodes.
func (x *Expression) SelectsNodes() bool { return x.nodes }

// expr is a node of the syntax tree. It is immutable.
type expr interface {
	eval(e *evaluation, f focus) sequence
}

// focus is the context item with its position.
type focus struct {
	at             item
	position, size int64
}

// evaluation is the state of one evaluation. The first error ends it: each loop asks spend, which
// allows nothing after an error.
type evaluation struct {
	tree     Tree
	left     int
	err      *Error
	vars     []sequence
	patterns map[string]*pattern // patterns that are not constant
	now      time.Time
}

// Evaluate returns the value of the expression at a node. Steps bounds the evaluation: it visits
// nodes, makes items and reads text until they are used up, which is an error. Zero means the
// larger of 262,144 and 32 for each node of the tree.
func (x *Expression) Evaluate(tree Tree, at int32, steps int) ([]Item, error) {
	if steps <= 0 {
		steps = max(leastSteps, stepsPerNode*int(tree.Len()))
	}
	e := &evaluation{tree: tree, left: steps, vars: make([]sequence, x.slots)}
	value := x.root.eval(e, focus{at: nodeAt(at), position: 1, size: 1})
	if e.err != nil {
		return nil, e.err
	}
	items := make([]Item, len(value))
	for i, v := range value {
		if v.typ == nodeItem {
			items[i] = Item{Node: int32(v.n)}
			continue
		}
		items[i] = Item{Node: -1, Text: v.text()}
	}
	return items, nil
}

// spend uses a number of steps and reports whether the evaluation may go on.
func (e *evaluation) spend(steps int) bool {
	if e.err != nil {
		return false
	}
	if e.left -= steps; e.left < 0 {
		e.fail("limit", "the expression takes too many steps on this document")
		return false
	}
	return true
}

// spendText is spend for a text of so many bytes.
func (e *evaluation) spendText(size int) bool { return e.spend(1 + size/bytesPerStep) }

// fail ends the evaluation with an error.
func (e *evaluation) fail(code, format string, args ...any) sequence {
	if e.err == nil {
		e.err = &Error{Code: code, Offset: -1, Reason: fmt.Sprintf(format, args...)}
	}
	return nil
}

// value evaluates an expression and counts it.
func (e *evaluation) value(x expr, f focus) sequence {
	if !e.spend(1) {
		return nil
	}
	v := x.eval(e, f)
	if e.err != nil {
		return nil
	}
	return v
}

// nodeText returns the string value of a node.
func (e *evaluation) nodeText(n int64) string {
	v := e.tree.Value(int32(n))
	if !e.spendText(len(v)) {
		return ""
	}
	return string(v)
}

// atomize replaces nodes by their typed values.
func (e *evaluation) atomize(s sequence) sequence {
	for i := range s {
		if s[i].typ == nodeItem {
			return e.atomizeNodes(s)
		}
	}
	return s
}

// atomizeNodes is atomize for a sequence that has nodes.
func (e *evaluation) atomizeNodes(s sequence) sequence {
	out := make(sequence, 0, len(s))
	for _, i := range s {
		if !e.spend(1) {
			return nil
		}
		if i.typ == nodeItem {
			typ := untyped
			if e.tree.Node(int32(i.n)).Kind == Comment {
				typ = stringAtom
			}
			i = item{typ: typ, s: e.nodeText(i.n)}
		}
		out = append(out, i)
	}
	return out
}

// truth returns the effective boolean value (section 2.4.3 of XPath 3.1).
func (e *evaluation) truth(s sequence) bool {
	switch {
	case len(s) == 0:
		return false
	case s[0].typ == nodeItem:
		return true
	case len(s) > 1:
		e.fail("FORG0006", "a sequence of %d items that begins with %v is neither true nor false", len(s), s[0].typ)
		return false
	}
	switch v := s[0]; {
	case v.typ == boolean, v.typ == integer:
		return v.n != 0
	case v.typ.textual():
		return v.s != ""
	case v.typ == decimal:
		return v.d.Sign() != 0
	case v.typ.numeric():
		return v.f != 0 && v.f == v.f
	}
	e.fail("FORG0006", "a value of type %v is neither true nor false", s[0].typ)
	return false
}

// optional returns the only item of an atomized operand; false stands for none.
func (e *evaluation) optional(s sequence, what string) (item, bool) {
	s = e.atomize(s)
	if len(s) > 1 {
		e.fail("XPTY0004", "%s has %d items, expected one; write [1] after it, or string-join()", what, len(s))
	}
	if len(s) != 1 || e.err != nil {
		return item{}, false
	}
	return s[0], true
}
