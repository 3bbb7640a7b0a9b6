package rdf

import "bytes"

// turtleWriter writes documents in Turtle and TriG. It keeps the subject and the
// graph of the statement that is not closed yet.
type turtleWriter struct {
	short          *shortener
	open           bool // a statement is open
	subject, graph []byte
}

func newTurtleWriter(opts *EncoderOptions) writer { return &turtleWriter{short: newShortener(opts)} }

func (w *turtleWriter) append(dst, s, p, o, g []byte) ([]byte, error) {
	predicate, same := w.short.predicate(p)
	switch {
	case !w.continues(s, g):
		dst = w.appendSubject(dst, s, g)
		dst = append(dst, predicate.short[len(nextPredicate):]...)
	case same:
		dst = append(dst, nextObject...)
	default:
		dst = append(dst, predicate.short...)
	}
	return w.short.appendObject(dst, o, predicate), nil
}

func (w *turtleWriter) reset() {
	w.open = false
	w.subject = w.subject[:0]
	w.graph = w.graph[:0]
}

// continues reports whether a statement about s in g continues the one before.
func (w *turtleWriter) continues(s, g []byte) bool {
	return w.open && equal(w.subject, s) && equal(w.graph, g)
}

// appendSubject closes the statement before and starts one about s in g.
func (w *turtleWriter) appendSubject(dst, s, g []byte) []byte {
	switch {
	case !w.open:
		dst = append(dst, w.short.head...)
		dst = w.appendGraph(dst, g)
	case !bytes.Equal(w.graph, g):
		dst = w.appendEnd(dst)
		dst = w.appendGraph(dst, g)
	default:
		dst = append(dst, " .\n"...)
	}
	w.open = true
	w.subject = append(w.subject[:0], s...)
	dst = w.short.appendTerm(dst, s)
	return append(dst, ' ')
}

func (w *turtleWriter) appendGraph(dst, g []byte) []byte {
	w.graph = append(w.graph[:0], g...)
	if len(g) == 0 {
		return dst
	}
	dst = w.short.appendTerm(dst, g)
	return append(dst, " {\n"...)
}

func (w *turtleWriter) appendEnd(dst []byte) []byte {
	if !w.open {
		return dst
	}
	dst = append(dst, " .\n"...)
	if len(w.graph) > 0 {
		dst = append(dst, "}\n"...)
	}
	return dst
}
