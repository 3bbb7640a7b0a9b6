package jsondoc

import (
	"slices"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// maxWay is the largest number of segments of an iterator that is streamed.
const maxWay = 60

// way is an iterator with the places of a text that it can go through. A place is
// described by a set of states: state n is there when the first n segments select
// the place. The root has state 0. A place with all segments is a record.
type way struct {
	segments []segment
	spread   bool // whether the elements of an array that is selected are the records
}

// Streams returns why the records of the iterators cannot be found in a text that is
// read in parts, and "" if they can. With spread, the elements of an array that an
// iterator selects are its records.
func (c *Compiler) Streams(iterators []input.Path, spread []bool) string {
	if c.jayway {
		return "the dialect carml reads a JSON text whole"
	}
	for i, iterator := range iterators {
		p, ok := iterator.(*Path)
		if !ok {
			return "its iterators are of another engine"
		}
		if reason := p.looksBack(); reason != "" {
			return "the iterator " + p.expr + " " + reason
		}
		switch {
		case spread[i] && !p.query.singular:
			return "the iterator " + p.expr + " selects arrays whose elements are the records"
		case len(p.query.segments) == 0 && !spread[i]:
			return "the iterator " + p.expr + " selects the whole document"
		}
	}
	return ""
}

// looksBack returns what the path needs besides the record and the names above it.
func (p *Path) looksBack() string {
	if len(p.query.segments) > maxWay {
		return "is too long"
	}
	for _, s := range p.query.segments {
		for _, sel := range s.selectors {
			switch {
			case sel.kind == selectIndex || sel.kind == selectSlice:
				return "counts the elements of an array"
			case sel.kind == selectFilter && sel.filter.rooted():
				return "compares records with other parts of the document"
			}
		}
	}
	return ""
}

// rooted reports whether a filter refers to "$".
func (l *logical) rooted() bool {
	return slices.ContainsFunc(l.terms, (*logical).rooted) || l.query.rooted() || l.call.rooted() ||
		l.left.rooted() || l.right.rooted()
}

func (q *query) rooted() bool {
	if q == nil {
		return false
	}
	return q.absolute || slices.ContainsFunc(q.segments, func(s segment) bool {
		return slices.ContainsFunc(s.selectors, func(s selector) bool { return s.filter != nil && s.filter.rooted() })
	})
}

func (c *call) rooted() bool {
	return c != nil && slices.ContainsFunc(c.arguments, operand.rooted)
}

func (o operand) rooted() bool { return o.query.rooted() || o.call.rooted() }

// newWays returns the ways of iterators that [Compiler.Streams] allows.
func newWays(iterators []input.Path, spread []bool) []way {
	ways := make([]way, len(iterators))
	for i, iterator := range iterators {
		ways[i] = way{segments: iterator.(*Path).query.segments, spread: spread[i]}
	}
	return ways
}

// step returns the states of a child of a place. It reports false for a child that
// must be read as a whole, because it is a record or decides on one. key is nil for
// the elements of an array.
func (w *way) step(states uint64, key []byte, kind input.Kind) (next uint64, divisible bool) {
	if states>>len(w.segments)&1 != 0 {
		return 0, false // an element of an array that is spread
	}
	for i := range w.segments {
		if states>>i&1 == 0 {
			continue
		}
		s := &w.segments[i]
		if s.descendant {
			next |= 1 << i
		}
		for j := range s.selectors {
			switch sel := &s.selectors[j]; {
			case sel.kind == selectFilter:
				return 0, false
			case sel.kind == selectWildcard, sel.kind == selectName && key != nil && string(key) == sel.name:
				next |= 1 << (i + 1)
			}
		}
	}
	return next, w.divisible(next, kind)
}

// divisible reports whether a place is not a record, or an array that is spread.
func (w *way) divisible(states uint64, kind input.Kind) bool {
	return states>>len(w.segments)&1 == 0 || (w.spread && kind == input.Array)
}

// names appends the member names that a way selects from an object.
func (w *way) names(dst []string, states uint64) []string {
	for i := range w.segments {
		if states>>i&1 == 0 {
			continue
		}
		for _, s := range w.segments[i].selectors {
			if s.kind == selectName && !slices.Contains(dst, s.name) {
				dst = append(dst, s.name)
			}
		}
	}
	return dst
}
