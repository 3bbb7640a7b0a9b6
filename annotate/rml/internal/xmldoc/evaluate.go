package xmldoc

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// ReadAsCARML has the compiler read expressions and inputs as CARML 0.3.2 does: expressions
// are not compatible with XPath 1.0, an empty value does not count, and an input may have a document type declaration without
// entities, and another encoding than UTF-8. It is called before expressions are compiled.
func (c *Compiler) ReadAsCARML() { c.carml = true }

// The steps that an expression may take in the dialect of RML, the larger of the two.
const (
	leastSteps   = 1 << 22
	stepsPerNode = 64
)

// compileFull compiles an expression that is not a plain path.
func (c *Compiler) compileFull(expr string) (*xpath.Expression, error) {
	namespaces := make(map[string]string, len(c.prefixes))
	for prefix, at := range c.prefixes {
		namespaces[prefix] = c.spaces[at]
	}
	return xpath.Compile(expr, &xpath.Options{Namespaces: namespaces, Compatible: !c.carml, Number: func(space, local string) int32 {
		return c.name(c.space(space), local)
	}})
}

// evaluate evaluates an expression that is not a plain path. The items are valid until the next call.
func (d *Document) evaluate(p *path, at int32) ([]xpath.Item, error) {
	limits := xpath.Limits{Bytes: d.room}
	if !d.compiler.carml {
		limits.Steps = max(leastSteps, stepsPerNode*len(d.nodes))
	}
	items, err := d.evaluator.Append(d.items[:0], p.full, tree{d}, at, limits)
	if cap(items) <= keptNodes {
		d.items = items
	}
	if err == nil {
		return items, nil
	}
	if limit := (*xpath.Error)(nil); errors.As(err, &limit) && limit.Code == xpath.LimitCode {
		err = fmt.Errorf("%w: %w", err, input.ErrLimit)
	}
	return items, err
}

// fullNodes appends the nodes that an expression selects.
func (d *Document) fullNodes(p *path, at int32, dst []int32) ([]int32, error) {
	items, err := d.evaluate(p, at)
	for _, i := range items {
		if i.Node < 0 {
			return dst, fmt.Errorf("it selects the value %.40q, expected nodes", i.Text)
		}
		dst = append(dst, i.Node)
	}
	return dst, err
}

// fullValues appends the values of an expression, in the order of the sequence. An item that is not a node gets
// the place.
func (d *Document) fullValues(dst []input.Value, p *path, record, place input.Node) ([]input.Value, error) {
	items, err := d.evaluate(p, int32(record))
	if err != nil {
		return dst, fmt.Errorf("evaluate %q: %w", p.expr, err)
	}
	for _, i := range items {
		if i.Node >= 0 {
			dst = append(dst, input.Value{Text: d.value(i.Node), Kind: input.String, Node: input.Node(i.Node)})
			continue
		}
		dst = append(dst, input.Value{Text: d.copied(i.Text), Kind: input.String, Node: place})
	}
	clear(items)
	return dst, nil
}

// chunk is the memory that short texts are put into, one after the other.
const chunk = 512

// copied returns the bytes of a text. They stay where they are while a value refers to them.
func (d *Document) copied(text string) []byte {
	if text == "" || len(text) > chunk/8 {
		return []byte(text)
	}
	if len(text) > cap(d.texts)-len(d.texts) {
		d.texts = make([]byte, 0, chunk)
	}
	from := len(d.texts)
	d.texts = append(d.texts, text...)
	return d.texts[from:len(d.texts):len(d.texts)]
}

// withoutEmpty removes the values from an index on that are empty.
func withoutEmpty(values []input.Value, from int) []input.Value {
	kept := values[:from]
	for _, v := range values[from:] {
		if len(v.Text) > 0 {
			kept = append(kept, v)
		}
	}
	return kept
}

// tree lets expressions of XPath 3.1 visit a document.
type tree struct{ d *Document }

// Len returns the number of nodes.
func (t tree) Len() int32 { return int32(len(t.d.nodes)) }

// Node describes a node; the kinds have the same numbers.
func (t tree) Node(n int32) xpath.Node {
	at := &t.d.nodes[n]
	return xpath.Node{Kind: xpath.Kind(at.kind), Parent: at.parent, End: at.end, Attributes: int32(at.attrs), Known: at.known}
}

// Named appends the siblings of a name.
func (t tree) Named(dst []int32, from, to, known int32) ([]int32, int) {
	siblings := 0
	for nodes := t.d.nodes[:max(from, to)]; from < to; siblings++ {
		n := &nodes[from]
		if n.known == known {
			dst = append(dst, from)
		}
		from = n.end
	}
	return dst, siblings
}

// Name returns the name of a node.
func (t tree) Name(n int32) xpath.Name {
	at := &t.d.nodes[n]
	if at.size == 0 {
		return xpath.Name{}
	}
	return xpath.Name{Prefix: t.d.prefix(at), Local: t.d.localName(at), Space: t.d.spaces[at.space]}
}

// Value returns the string value of a node.
func (t tree) Value(n int32) []byte { return t.d.value(n) }
