package xmldoc

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// ReadAsCARML makes the compiler read expressions and inputs as CARML 0.3.2 does: expressions
// are XPath 3.1, a value that is empty is none, and an input may have a document type declaration without
// entities, and another encoding than UTF-8. It is called before expressions are compiled.
func (c *Compiler) ReadAsCARML() { c.carml = true }

// compileCARML compiles an expression of XPath 3.1. Plain steps mean the same in both versions.
func (c *Compiler) compileCARML(p *path) error {
	if tokens, err := tokenize(p.expr); err == nil && c.checkTokens(tokens) == nil {
		if steps, plain := c.plainSteps(tokens); plain {
			p.steps, p.absolute, p.name = steps.list, steps.absolute, steps.name
			return nil
		}
	}
	namespaces := make(map[string]string, len(c.prefixes))
	for prefix, at := range c.prefixes {
		namespaces[prefix] = c.spaces[at]
	}
	var err error
	if p.modern, err = xpath.Compile(p.expr, namespaces); err != nil {
		return err
	}
	p.scalar = !p.modern.SelectsNodes()
	return nil
}

// modernNodes appends the nodes that an expression of XPath 3.1 selects.
func (d *Document) modernNodes(p *path, at int32, dst []int32) ([]int32, error) {
	items, err := p.modern.Evaluate(tree{d}, at, xpath.Limits{Bytes: d.room})
	for _, i := range items {
		if i.Node < 0 {
			return dst, fmt.Errorf("it selects the value %.40q, expected nodes", i.Text)
		}
		dst = append(dst, i.Node)
	}
	return dst, err
}

// modernValues appends the values of an expression of XPath 3.1, in the order of the sequence.
func (d *Document) modernValues(dst []input.Value, p *path, record input.Node) ([]input.Value, error) {
	items, err := p.modern.Evaluate(tree{d}, int32(record), xpath.Limits{Bytes: d.room})
	if err != nil {
		return dst, fmt.Errorf("evaluate %q: %w", p.expr, err)
	}
	for _, i := range items {
		v := input.Value{Text: []byte(i.Text), Kind: input.String, Node: record}
		if i.Node >= 0 {
			v.Text, v.Node = d.value(i.Node), input.Node(i.Node)
		}
		dst = append(dst, v)
	}
	return dst, nil
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
	return xpath.Node{Kind: xpath.Kind(at.kind), Parent: at.parent, End: at.end, Attributes: int32(at.attrs)}
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
