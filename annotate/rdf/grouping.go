package rdf

import "bytes"

// grouping writes the subjects and graphs of a Turtle or TriG document, and
// keeps those of the statement that is not closed yet.
type grouping struct {
	short          *shortener
	open           bool // a statement is open
	subject, graph []byte
}

func (c *grouping) reset() {
	c.open = false
	c.subject, c.graph = c.subject[:0], c.graph[:0]
}

// continues reports whether a statement about s in g continues the one before.
func (c *grouping) continues(s, g []byte) bool {
	return c.open && equal(c.subject, s) && equal(c.graph, g)
}

// appendSubject closes the statement before and starts one about s in g.
func (c *grouping) appendSubject(dst, s, g []byte) []byte {
	switch {
	case !c.open:
		dst = append(dst, c.short.head...)
		dst = c.appendGraph(dst, g)
	case !bytes.Equal(c.graph, g):
		dst = c.appendEnd(dst)
		dst = c.appendGraph(dst, g)
	default:
		dst = append(dst, " .\n"...)
	}
	c.open = true
	c.subject = append(c.subject[:0], s...)
	dst = c.short.appendTerm(dst, s)
	return append(dst, ' ')
}

func (c *grouping) appendGraph(dst, g []byte) []byte {
	c.graph = append(c.graph[:0], g...)
	if len(g) == 0 {
		return dst
	}
	dst = c.short.appendTerm(dst, g)
	return append(dst, " {\n"...)
}

func (c *grouping) appendEnd(dst []byte) []byte {
	if !c.open {
		return dst
	}
	dst = append(dst, " .\n"...)
	if len(c.graph) > 0 {
		dst = append(dst, "}\n"...)
	}
	return dst
}
