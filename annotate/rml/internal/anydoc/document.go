package anydoc

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// keptNodes is how many entries the table may have room for between documents.
const keptNodes = 1 << 14

// Document is one document after another, read by one goroutine at a time.
type Document struct {
	owner    *Compiler
	check    input.Document
	compiled map[*path]selection
	nodes    []node // the root is the first
}

// node is an entry of the table.
type node struct {
	value any
	from  input.Node // the node that it was selected from; noNode for the root
	by    *path      // the expression that selected it; nil for an element of an array
	nth   int        // its index among the results, from 0
}

const noNode input.Node = -1

var _ input.Document = (*Document)(nil)

var (
	errForeignPath = errors.New("anydoc: path of another source")
	errNoNode      = errors.New("anydoc: no such node in the loaded document")
)

// Load checks the document and parses it with the engine. After an error the
// document is empty.
func (d *Document) Load(data []byte) error {
	clear(d.nodes)
	d.nodes = d.nodes[:0]
	if cap(d.nodes) > keptNodes {
		d.nodes = nil
	}
	if err := d.check.Load(data); err != nil {
		return err
	}
	root, err := d.parse(data)
	if err != nil {
		return fmt.Errorf("parse the input: %w", err)
	}
	d.nodes = append(d.nodes, node{value: root, from: noNode})
	return nil
}

// Bound implements [input.Bounded]. Memory of the engine is not accounted for.
func (d *Document) Bound(bytes int) {
	if check, ok := d.check.(input.Bounded); ok {
		check.Bound(bytes)
	}
}

func (d *Document) parse(data []byte) (root any, err error) {
	defer recovered(&err)
	return d.owner.engine.Parse(data)
}

// Records appends the nodes that the iterator selects from the root.
func (d *Document) Records(dst []input.Node, iterator input.Path) ([]input.Node, error) {
	p, found, err := d.evaluate(0, iterator)
	if err != nil {
		return dst, err
	}
	for i, value := range found {
		n, err := d.keep(node{value: value, by: p, nth: i})
		if err != nil {
			return dst, err
		}
		dst = append(dst, n)
	}
	return dst, nil
}

// Values appends the values that the reference selects from the record, in the
// order of the engine.
func (d *Document) Values(dst []input.Value, record input.Node, reference input.Path) ([]input.Value, error) {
	p, found, err := d.evaluate(record, reference)
	if err != nil {
		return dst, err
	}
	for i, value := range found {
		if dst, err = d.append(dst, node{value: value, from: record, by: p, nth: i}); err != nil {
			return dst, fmt.Errorf("evaluate %q: %w", p.expr, err)
		}
	}
	return dst, nil
}

// Elements appends the values of an array's elements; none when the node is
// not an array.
func (d *Document) Elements(dst []input.Value, array input.Node) []input.Value {
	if !d.has(array) {
		return dst
	}
	elements, ok, err := d.elements(d.nodes[array].value)
	if err != nil || !ok {
		return dst
	}
	for i, value := range elements {
		if dst, err = d.append(dst, node{value: value, from: array, nth: i}); err != nil {
			return dst
		}
	}
	return dst
}

// Items appends the elements of an array as records. It reports false for a
// node that is none.
func (d *Document) Items(dst []input.Node, array input.Node) ([]input.Node, bool, error) {
	if !d.has(array) {
		return dst, false, nil
	}
	elements, ok, err := d.elements(d.nodes[array].value)
	if err != nil || !ok {
		return dst, false, err
	}
	for i, value := range elements {
		n, err := d.keep(node{value: value, from: array, nth: i})
		if err != nil {
			return dst, false, err
		}
		dst = append(dst, n)
	}
	return dst, true, nil
}

// evaluate selects from a node of the document.
func (d *Document) evaluate(from input.Node, of input.Path) (_ *path, found []any, err error) {
	p, ok := of.(*path)
	switch {
	case !ok || p.owner != d.owner:
		return nil, nil, fmt.Errorf("evaluate %v: %w", of, errForeignPath)
	case !d.has(from):
		return nil, nil, fmt.Errorf("evaluate %q from node %d: %w", p.expr, from, errNoNode)
	}
	selected := d.compiled[p]
	if selected == nil {
		if selected, err = d.owner.compile(p); err != nil {
			return nil, nil, fmt.Errorf("compile %q: %w", p.expr, err)
		}
		d.compiled[p] = selected
	}
	if found, err = call(selected, d.nodes[from].value); err != nil {
		return nil, nil, fmt.Errorf("evaluate %q: %w", p.expr, err)
	}
	return p, found, nil
}

func call(selected selection, value any) (found []any, err error) {
	defer recovered(&err)
	return selected(value)
}

// append appends the value of a node, and keeps the node if it is composite.
func (d *Document) append(dst []input.Value, n node) ([]input.Value, error) {
	text, kind, ok, err := d.value(n.value)
	if err != nil || !ok {
		return dst, err
	}
	v := input.Value{Kind: kind, Node: n.from}
	if kind != input.Null {
		v.Text = []byte(text)
	}
	if kind == input.Object || kind == input.Array {
		if v.Node, err = d.keep(n); err != nil {
			return dst, err
		}
	}
	return append(dst, v), nil
}

// value returns the value of a node.
func (d *Document) value(n any) (text string, kind input.Kind, ok bool, err error) {
	defer recovered(&err)
	text, kind, ok = d.owner.engine.Value(n)
	if ok && kind == input.Object {
		_, array, err := d.elements(n)
		if err != nil {
			return "", 0, false, err
		}
		if array {
			kind = input.Array
		}
	}
	return text, kind, ok, nil
}

func (d *Document) elements(n any) (elements []any, ok bool, err error) {
	if d.owner.engine.Elements == nil {
		return nil, false, nil
	}
	defer recovered(&err)
	elements, ok = d.owner.engine.Elements(n)
	return elements, ok, nil
}

// keep puts a node into the table.
func (d *Document) keep(n node) (input.Node, error) {
	if limit := d.owner.limits.MaxNodes; limit > 0 && len(d.nodes) >= limit {
		return noNode, fmt.Errorf("more than %d records and composite values were selected: %w", limit, input.ErrLimit)
	}
	d.nodes = append(d.nodes, n)
	return input.Node(len(d.nodes) - 1), nil
}

// has reports whether n is a node of the loaded document.
func (d *Document) has(n input.Node) bool { return uint(n) < uint(len(d.nodes)) }

// Place returns the expressions that selected a node: an engine need not know
// the places of its nodes.
func (d *Document) Place(n input.Node) string {
	switch {
	case !d.has(n):
		return ""
	case n == 0:
		return d.owner.engine.Whole
	}
	at := &d.nodes[n]
	switch {
	case at.by == nil:
		return fmt.Sprintf("element %d of %s", at.nth+1, d.Place(at.from))
	case at.from == 0:
		return fmt.Sprintf("record %d of %s", at.nth+1, at.by.written())
	}
	return fmt.Sprintf("value %d of %q in %s", at.nth+1, at.by.expr, d.Place(at.from))
}

// written returns an iterator as a mapping writes it.
func (p *path) written() string {
	if p.expr == "" {
		return p.owner.engine.Whole
	}
	return p.expr
}
