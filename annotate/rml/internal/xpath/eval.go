package xpath

import (
	"fmt"
	"slices"
	"time"
	"unsafe"
)

const (
	// leastSteps is the number of steps that an evaluation may take on any document.
	leastSteps = 1 << 18
	// stepsPerNode is the number of steps for each node of a large document.
	stepsPerNode = 32
	// bytesPerStep is how many bytes of text are written or read in one step.
	bytesPerStep = 32
	// defaultBytes is the memory that the values of an evaluation may take.
	defaultBytes = 128 << 20
	// itemBytes is the memory of an item, without its text.
	itemBytes = int(unsafe.Sizeof(item{}))
)

// Limits bounds one evaluation.
type Limits struct {
	// Steps is the number of steps: nodes that are visited, items that are created, and each 32 bytes of text.
	// Zero means the larger of 262,144 and 32 for each node of the tree.
	Steps int
	// Bytes is the memory that the values of the evaluation may take at a time: the items of sequences, the
	// texts, and the compiled regular expressions. Zero means 128 MiB.
	Bytes int
}

// Expression is a compiled expression. It is immutable and safe for concurrent use.
type Expression struct {
	source     string
	root       expr
	slots      int
	hoisted    int // number of hoisted expressions
	nodes      bool
	reach      reach
	compatible bool
}

// String returns the expression as it was written.
func (x *Expression) String() string { return x.source }

// SelectsNodes reports whether the value can be nodes.
func (x *Expression) SelectsNodes() bool { return x.nodes }

// StaysInside reports whether the expression looks only at the node that it is evaluated at, its attributes
// and what is inside of it.
func (x *Expression) StaysInside() bool { return !x.reach.outside }

// SameEverywhere reports whether the value of the expression is the same at every node of a tree.
func (x *Expression) SameEverywhere() bool { return x.reach.sameEverywhere() }

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
	tree       Tree
	free       [][]int32 // lists of nodes that are not in use
	compatible bool      // with XPath 1.0
	left       int       // the steps
	room       int       // the bytes
	err        *Error
	vars       []sequence
	patterns   map[string]*pattern // patterns that are not constant
	now        time.Time
	units      []item      // room for short sequences, as far as it is not in use
	args       []sequence  // of the calls that are evaluated, a stack
	kept       []keptValue // of the hoisted expressions
	keptRoom   int         // the bytes that are left for them
}

// Evaluator evaluates expressions one after the other, and keeps its buffers. It keeps the values of parts of
// expressions that are the same everywhere in a tree. The zero value is ready. It is for one goroutine at a time.
type Evaluator struct {
	running evaluation
	units   [32]item // short sequences of the running evaluation
	tree    Tree     // the values are of
	values  map[*Expression][]keptValue
	held    int // the bytes of the values
}

// Forget drops the values that are kept of the tree. It is called when a tree changes.
func (v *Evaluator) Forget() {
	v.tree = nil
	v.held = 0
	for _, values := range v.values {
		clear(values)
	}
}

// keptValues returns what is kept of an expression.
func (v *Evaluator) keptValues(x *Expression, tree Tree) []keptValue {
	if v.tree != tree {
		v.Forget()
		v.tree = tree
	}
	if v.values == nil {
		v.values = make(map[*Expression][]keptValue)
	}
	if v.values[x] == nil {
		v.values[x] = make([]keptValue, x.hoisted)
	}
	return v.values[x]
}

// keptNodes is the number of nodes for which an evaluator keeps room.
const keptNodes = 1 << 12

// keptArguments is the number of arguments for which an evaluator keeps room.
const keptArguments = 64

// Append appends the value of an expression at a node. An evaluation that reaches one of the limits is
// an error.
func (v *Evaluator) Append(dst []Item, x *Expression, tree Tree, at int32, limits Limits) ([]Item, error) {
	e := &v.running
	e.tree = tree
	e.compatible = x.compatible
	e.err = nil
	e.now = time.Time{}
	e.units = v.units[:]
	e.left = limits.Steps
	e.room = limits.Bytes
	if e.left <= 0 {
		e.left = max(leastSteps, stepsPerNode*int(e.tree.Len()))
	}
	if e.room <= 0 {
		e.room = defaultBytes
	}
	if x.slots > 0 {
		e.vars = make([]sequence, x.slots)
	}
	if x.hoisted > 0 {
		e.kept = v.keptValues(x, tree)
	}
	room := min(keptBytes, e.room/4) - v.held
	e.keptRoom = room
	e.room -= v.held
	dst = e.append(dst, x, at)
	v.held += room - e.keptRoom
	e.rewind(v.units[:])
	if e.args = e.args[:0]; cap(e.args) > keptArguments {
		e.args = nil
	}
	clear(e.args[:cap(e.args)])
	e.free = slices.DeleteFunc(e.free, func(b []int32) bool { return cap(b) > keptNodes })
	e.vars = nil
	e.patterns = nil
	e.kept = nil
	if e.err != nil {
		return dst, e.err
	}
	return dst, nil
}

// append appends the value of a whole expression, unless that is an error.
func (e *evaluation) append(dst []Item, x *Expression, at int32) []Item {
	f, before := focus{at: nodeAt(at), position: 1, size: 1}, len(dst)
	if root, ok := asNodes(x.root); ok {
		nodes := root.appendNodes(e, f, e.buffer())
		e.release(nodes)
		if !e.holdItems(len(nodes)) {
			return dst
		}
		for _, n := range nodes {
			dst = append(dst, Item{Node: n})
		}
		return dst
	}
	value := x.root.eval(e, f)
	for i := range value {
		v := &value[i]
		if v.typ == nodeItem {
			dst = append(dst, Item{Node: int32(v.n)})
			continue
		}
		text := e.text(*v)
		if !e.hold(len(text)) {
			break
		}
		dst = append(dst, Item{Node: -1, Text: text})
	}
	if e.err != nil {
		return dst[:before]
	}
	return dst
}

// spend uses a number of steps and reports whether the evaluation may go on.
func (e *evaluation) spend(steps int) bool {
	e.left -= steps
	return (e.err == nil && e.left >= 0) || e.exhausted("the expression takes too many steps")
}

// exhausted fails for a limit, unless the evaluation has failed, and returns false.
func (e *evaluation) exhausted(what string) bool {
	e.fail(LimitCode, "%s on this document", what)
	return false
}

// spendText is spend for reading a text of so many bytes.
func (e *evaluation) spendText(size int) bool { return e.spend(1 + size/bytesPerStep) }

// hold takes memory and reports whether the evaluation may go on.
func (e *evaluation) hold(bytes int) bool {
	e.room -= bytes
	return (e.err == nil && e.room >= 0) || e.exhausted("the values of the expression take too much memory")
}

// holdItems is hold for new items, with the steps of creating them.
func (e *evaluation) holdItems(n int) bool { return e.spend(n) && e.hold(n*itemBytes) }

// holdText is hold for a new text, with the steps of creating it.
func (e *evaluation) holdText(size int) bool { return e.spendText(size) && e.hold(size) }

// keepOnly frees the memory that was taken since there was so much room, but for a result.
func (e *evaluation) keepOnly(room int, result sequence) bool {
	e.room = room
	if !e.holdItems(len(result)) {
		return false
	}
	for i := range result {
		if !e.hold(result[i].held()) {
			return false
		}
	}
	return true
}

// fail ends the evaluation with an error.
func (e *evaluation) fail(code, format string, args ...any) sequence {
	if e.err == nil {
		e.err = &Error{Code: code, Offset: -1, Reason: fmt.Sprintf(format, args...)}
	}
	return nil
}

// unit returns a sequence of one item.
func (e *evaluation) unit(i item) sequence {
	s := e.items(1)
	s[0] = i
	return s
}

// oneText returns a string as a sequence.
func (e *evaluation) oneText(text string) sequence {
	s := e.items(1)
	s[0].typ = stringAtom
	s[0].s = text
	return s
}

// items returns a sequence of empty items to fill. The first short ones of an evaluation take no memory of their own.
func (e *evaluation) items(n int) sequence {
	if n > len(e.units) {
		return make(sequence, n)
	}
	s := e.units[:n:n]
	e.units = e.units[n:]
	return s
}

// rewind frees the items that were taken since there was so much room for them.
func (e *evaluation) rewind(units []item) {
	clear(units[:len(units)-len(e.units)])
	e.units = units
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
	if !e.holdText(len(v)) {
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
	if !e.holdItems(len(s)) {
		return nil
	}
	out := e.items(len(s))
	for i := range s {
		if e.err != nil {
			return nil
		}
		out[i] = e.typedValue(s[i])
	}
	return out
}

// typedValue returns the typed value of a node, and another item as it is.
func (e *evaluation) typedValue(i item) item {
	if i.typ != nodeItem {
		return i
	}
	typ := untyped
	if e.tree.Node(int32(i.n)).Kind == Comment {
		typ = stringAtom
	}
	return item{typ: typ, s: e.nodeText(i.n)}
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

// optional returns the only item of an operand, atomized; false stands for none. In the compatible mode
// it is the first.
func (e *evaluation) optional(s sequence, operator string) (item, bool) {
	if e.compatible && len(s) > 1 {
		s = s[:1]
	}
	return e.single(s, operator)
}

// single is optional in both modes alike.
func (e *evaluation) single(s sequence, operator string) (item, bool) {
	if len(s) > 1 {
		e.fail("XPTY0004", "an operand of %s has %d items, expected one; write [1] after it, or string-join()", operator, len(s))
	}
	if len(s) != 1 || e.err != nil {
		return item{}, false
	}
	v := e.typedValue(s[0])
	return v, e.err == nil
}
