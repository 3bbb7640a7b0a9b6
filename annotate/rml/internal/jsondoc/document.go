package jsondoc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Document is one JSON text after another, read by one goroutine at a time.
// Documents come from [Compiler.NewDocument].
type Document struct {
	owner              *Compiler
	maxDepth, maxNodes int
	jayway             bool

	data     []byte
	tape     []node
	escaped  []decoded
	scratch  []byte
	composed []byte       // values of Jayway that are not part of the text
	java     []byte       // scratch for a number in the notation of Java
	list     []input.Node // node lists under evaluation, used as a stack
	steps    int          // remaining steps of an evaluation
	dynamic  pattern      // the last regular expression taken from the text
	shapes   shapes
	slots    int     // slots that the path under evaluation may use
	window   int     // the bytes of a part at first
	stream   *stream // nil for a text that is loaded as a whole

	idleTape, idleScratch, idleList idle
	listPeak                        int
}

var _ input.Document = (*Document)(nil)

// Errors of calls with a node or a path that does not belong to the document.
var (
	errForeignPath = errors.New("jsondoc: path of another input format")
	errNoNode      = errors.New("jsondoc: no such node in the loaded document")
)

// missing describes a node that is not one of the loaded text.
func missing(p *Path, n input.Node) error {
	return fmt.Errorf("evaluate %q from node %d: %w", p.expr, n, errNoNode)
}

// Load reads and checks a whole JSON text, see the package documentation for
// what it accepts. The error is a *[input.SyntaxError]; after one the document
// is empty.
//
// Buffers are kept from load to load. A buffer of more than 32,768 nodes or 256
// KiB is freed after 64 loads in a row that used less than a quarter of it.
func (d *Document) Load(data []byte) error {
	d.reset()
	d.data = data
	d.stream = nil
	if uint64(len(data)) > math.MaxUint32-1 {
		return d.refuse(&fault{0, fmt.Sprintf("text of %d bytes, at most %d are read", len(data), uint32(math.MaxUint32-1))})
	}
	tape, bad := d.scan(data)
	d.tape = tape
	if bad != nil && d.jayway && !d.owner.strict {
		bad = d.permit(data, bad)
	}
	if bad != nil {
		return d.refuse(bad)
	}
	return nil
}

// Bound implements [input.Bounded].
func (d *Document) Bound(bytes int) {
	d.maxNodes = input.Within(bytes, int(unsafe.Sizeof(node{})), d.owner.maxNodes)
}

// reset drops the loaded text and frees buffers that are too large.
func (d *Document) reset() {
	d.shapes.renew()
	if d.composed = d.composed[:0]; cap(d.composed) > keptBytes {
		d.composed = nil
	}
	if d.idleTape.release(cap(d.tape), len(d.tape), keptNodes) {
		d.tape = nil
		d.escaped = nil
	}
	if d.idleScratch.release(cap(d.scratch), len(d.scratch), keptBytes) {
		d.scratch = nil
	}
	if d.idleList.release(cap(d.list), d.listPeak, keptNodes) {
		d.list = nil
	}
	d.tape = d.tape[:0]
	d.escaped = d.escaped[:0]
	d.scratch = d.scratch[:0]
	d.list = d.list[:0]
	d.listPeak = 0
}

// refuse empties the document and returns the error for a fault.
func (d *Document) refuse(bad *fault) *input.SyntaxError {
	at := input.Position{Line: 1, Column: 1}
	head := 0
	if d.stream != nil {
		at, head = d.stream.at, d.stream.head
	}
	at.Advance(d.data[head:max(head, min(bad.offset, len(d.data)))])
	d.data = nil
	d.tape = d.tape[:0]
	d.escaped = d.escaped[:0]
	return &input.SyntaxError{Format: "JSON", Line: at.Line, Column: at.Column, Offset: at.Offset, Reason: bad.reason, Limit: d.isLimit(bad)}
}

// isLimit reports whether a fault is a limit that the text exceeds.
func (d *Document) isLimit(bad *fault) bool {
	return bad.reason == d.tooDeep() || bad.reason == d.tooManyNodes()
}

func (d *Document) tooDeep() string {
	return fmt.Sprintf("nesting deeper than the limit of %d", d.maxDepth)
}

func (d *Document) tooManyNodes() string {
	return fmt.Sprintf("more values than the limit of %d", d.maxNodes)
}

// has reports whether n is a node of the loaded text.
func (d *Document) has(n input.Node) bool { return uint(n) < uint(len(d.tape)) }

// Root returns the node of the whole text. It is a node only after a
// successful Load.
func (d *Document) Root() input.Node { return 0 }

// Records appends the nodes that the iterator selects from the root.
func (d *Document) Records(dst []input.Node, iterator input.Path) ([]input.Node, error) {
	return d.RecordsIn(dst, 0, iterator)
}

// RecordsIn appends the nodes that the iterator selects when "$" is the given
// node, for iterators that are nested in records.
func (d *Document) RecordsIn(dst []input.Node, from input.Node, iterator input.Path) ([]input.Node, error) {
	p, ok := iterator.(*Path)
	if !ok {
		return dst, fmt.Errorf("evaluate %q: %w", iterator, errForeignPath)
	}
	if !p.jayway {
		return d.Select(dst, from, p)
	}
	records, err := d.Select(dst, from, p)
	if len(records) != len(dst)+1 || !p.definite {
		return records, err
	}
	items, isArray, err := d.Items(records[:len(dst)], records[len(dst)])
	if !isArray {
		return records, err
	}
	return items, err
}

// Values appends the values that the reference selects from the record, in
// the order of RFC 9535.
func (d *Document) Values(dst []input.Value, record input.Node, reference input.Path) ([]input.Value, error) {
	p, ok := reference.(*Path)
	if !ok {
		return dst, fmt.Errorf("evaluate %q: %w", reference, errForeignPath)
	}
	if !d.has(record) {
		return dst, missing(p, record)
	}
	d.use(p)
	if p.query.singular && !p.jayway {
		var n input.Node
		if steps := p.query.steps; len(steps) == 1 && steps[0].kind == selectName {
			n = d.member(record, &steps[0])
		} else {
			n = d.follow(record, steps)
		}
		if n != noNode {
			dst = d.appendValue(dst, n)
		}
		return dst, nil
	}
	if p.jayway {
		return d.jaywayValues(dst, record, p)
	}
	base := len(d.list)
	err := d.run(p, record)
	if err == nil {
		for _, n := range d.list[base:] {
			dst = d.appendValue(dst, n)
		}
	}
	d.list = d.list[:base]
	return dst, err
}

// Single returns the value of a reference that selects one scalar that is not
// null and has no escapes, the most common case. It reports false in every
// other case; Values handles them all.
func (d *Document) Single(record input.Node, reference input.Path) (input.Value, bool) {
	p, ok := reference.(*Path)
	if !ok || !p.query.singular || len(p.query.steps) != 1 || p.query.steps[0].kind != selectName || !d.has(record) {
		return input.Value{}, false
	}
	d.use(p)
	n := d.member(record, &p.query.steps[0])
	if n == noNode {
		return input.Value{}, false
	}
	t := &d.tape[n]
	if t.kind >= input.Null || t.flags&escapedText != 0 || (p.jayway && t.kind != input.String && !d.plainNumber(t)) {
		return input.Value{}, false
	}
	return input.Value{Text: d.data[t.start:t.end:t.end], Kind: t.kind, Node: n}, true
}

// Value returns the value of a node of the loaded text.
func (d *Document) Value(n input.Node) input.Value {
	var one [1]input.Value
	return d.appendValue(one[:0], n)[0]
}

// appendValue appends the value of a node, writing it in place.
func (d *Document) appendValue(dst []input.Value, n input.Node) []input.Value {
	if len(dst) < cap(dst) {
		dst = dst[:len(dst)+1]
	} else {
		dst = append(dst, input.Value{})
	}
	t := &d.tape[n]
	v := &dst[len(dst)-1]
	v.Kind = t.kind
	v.Node = n
	switch {
	case t.flags&escapedText != 0:
		v.Text = d.text(n)
	case t.kind == input.Null:
		v.Text = nil
	default:
		v.Text = d.data[t.start:t.end:t.end]
	}
	return dst
}

// Elements appends the values of an array's elements; none when the node is
// not an array.
func (d *Document) Elements(dst []input.Value, n input.Node) []input.Value {
	if !d.has(n) || d.tape[n].kind != input.Array {
		return dst
	}
	for c, end := n+1, input.Node(d.tape[n].next); c < end; c = input.Node(d.tape[c].next) {
		dst = d.appendValue(dst, c)
	}
	return dst
}

// Items appends the elements of an array. It reports false for a node that is
// none.
func (d *Document) Items(dst []input.Node, n input.Node) ([]input.Node, bool, error) {
	if !d.has(n) || d.tape[n].kind != input.Array {
		return dst, false, nil
	}
	dst = slices.Grow(dst, d.size(n))
	for c, end := n+1, input.Node(d.tape[n].next); c < end; c = input.Node(d.tape[c].next) {
		dst = append(dst, c)
	}
	return dst, true, nil
}

// Raw returns the source text of a node, the quotes of a string included. It
// is borrowed like the Text of a value.
func (d *Document) Raw(n input.Node) []byte {
	if !d.has(n) {
		return nil
	}
	t := &d.tape[n]
	if t.kind == input.String {
		return d.data[t.start-1 : t.end+1 : t.end+1]
	}
	return d.data[t.start:t.end:t.end]
}
