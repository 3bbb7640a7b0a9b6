package xmldoc

import "github.com/iotenablers/enablers/annotate/rml/internal/input"

// Held returns the bytes that the buffers of a document hold.
func Held(doc input.Document) int {
	d := doc.(*Document)
	return cap(d.nodes)*40 + cap(d.scratch) + cap(d.joins) + (cap(d.work[0])+cap(d.work[1]))*4
}

// Plain reports whether a path is evaluated step by step.
func Plain(p input.Path) bool { return p.(*path).full == nil }

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
