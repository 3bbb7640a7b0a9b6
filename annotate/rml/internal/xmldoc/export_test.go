package xmldoc

import "github.com/iotenablers/enablers/annotate/rml/internal/input"

// Held returns the bytes that the buffers of a document hold.
func Held(doc input.Document) int {
	d := doc.(*Document)
	return cap(d.nodes)*40 + cap(d.scratch) + cap(d.joins) + (cap(d.previous)+cap(d.work[0])+cap(d.work[1]))*4
}

// Plain reports whether a path needs no syntax tree and no library.
func Plain(p input.Path) bool {
	q := p.(*path)
	return q.tree == nil && q.full == ""
}

// Text returns the texts of a document, attributes in brackets.
func (d *Document) Text() string {
	text := ""
	for i := range d.nodes {
		switch n := &d.nodes[i]; n.kind {
		case attributeNode:
			text += "[" + string(d.text(n.start, n.length)) + "]"
		case textNode:
			text += string(d.text(n.start, n.length))
		}
	}
	return text
}

// SetWindow sets how many bytes the first part of a stream has.
func (d *Document) SetWindow(size int) { d.window = size }
