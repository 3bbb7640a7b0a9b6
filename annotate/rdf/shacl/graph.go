package shacl

import (
	"cmp"
	"slices"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// id stands for a term: those of the shapes graph first, then those of the data.
type id uint32

type triple struct{ s, p, o id }

// graph is the data with what is needed to find statements. It keeps its memory
// from one validation to the next.
type graph struct {
	constants map[rdf.Term]id // of the shapes graph, shared
	known     []rdf.Term      // likewise, by id
	ids       map[rdf.Term]id
	terms     []rdf.Term // by id - len(known)

	forward  []triple // by subject, predicate, object
	values   []id     // the objects of forward
	backward []triple // by object, predicate, subject; nil until it is needed
	sources  []id     // the subjects of backward
	turned   bool
}

// keptTerms is how many terms a graph may have whose memory is kept.
const keptTerms = 1 << 14

func (g *graph) load(quads []rdf.Quad) {
	if len(g.terms) > keptTerms {
		g.ids = nil
		g.terms = nil
		g.forward = nil
		g.values = nil
		g.backward = nil
		g.sources = nil
	}
	if g.ids == nil {
		g.ids = map[rdf.Term]id{}
	}
	clear(g.ids)
	clear(g.terms) // releases the texts
	g.terms, g.forward, g.turned = g.terms[:0], g.forward[:0], false
	for i := range quads {
		q := &quads[i]
		g.forward = append(g.forward, triple{s: g.intern(q.Subject), p: g.intern(q.Predicate), o: g.intern(q.Object)})
	}
	slices.SortFunc(g.forward, func(a, b triple) int {
		return cmp.Or(cmp.Compare(a.s, b.s), cmp.Compare(a.p, b.p), cmp.Compare(a.o, b.o))
	})
	g.forward = slices.Compact(g.forward)
	g.values = g.values[:0]
	for _, t := range g.forward {
		g.values = append(g.values, t.o)
	}
}

func (g *graph) intern(t rdf.Term) id {
	if n, ok := g.constants[t]; ok {
		return n
	}
	if n, ok := g.ids[t]; ok {
		return n
	}
	n := id(len(g.known) + len(g.terms))
	g.ids[t] = n
	g.terms = append(g.terms, t)
	return n
}

func (g *graph) term(n id) rdf.Term {
	if int(n) < len(g.known) {
		return g.known[n]
	}
	return g.terms[int(n)-len(g.known)]
}

// objects returns the objects of the statements with the subject and predicate.
func (g *graph) objects(s, p id) []id {
	from, _ := slices.BinarySearchFunc(g.forward, triple{s: s, p: p}, func(t, want triple) int {
		if order := cmp.Or(cmp.Compare(t.s, want.s), cmp.Compare(t.p, want.p)); order != 0 {
			return order
		}
		return 1 // look for the first
	})
	to := from
	for to < len(g.forward) && g.forward[to].s == s && g.forward[to].p == p {
		to++
	}
	return g.values[from:to:to]
}

// about returns the statements with the subject.
func (g *graph) about(s id) []triple {
	from, _ := slices.BinarySearchFunc(g.forward, s, func(t triple, want id) int {
		if t.s < want {
			return -1
		}
		return 1
	})
	to := from
	for to < len(g.forward) && g.forward[to].s == s {
		to++
	}
	return g.forward[from:to]
}

// subjects returns the subjects of the statements with the predicate and object.
func (g *graph) subjects(p, o id) []id {
	g.turn()
	from, _ := slices.BinarySearchFunc(g.backward, triple{p: p, o: o}, func(t, want triple) int {
		if order := cmp.Or(cmp.Compare(t.o, want.o), cmp.Compare(t.p, want.p)); order != 0 {
			return order
		}
		return 1
	})
	to := from
	for to < len(g.backward) && g.backward[to].o == o && g.backward[to].p == p {
		to++
	}
	return g.sources[from:to:to]
}

// turn sorts the statements by object.
func (g *graph) turn() {
	if g.turned {
		return
	}
	g.turned = true
	g.backward = append(g.backward[:0], g.forward...)
	slices.SortFunc(g.backward, func(a, b triple) int {
		return cmp.Or(cmp.Compare(a.o, b.o), cmp.Compare(a.p, b.p), cmp.Compare(a.s, b.s))
	})
	g.sources = g.sources[:0]
	for _, t := range g.backward {
		g.sources = append(g.sources, t.s)
	}
}

// distinct sorts ids and removes duplicates.
func distinct(ids []id) []id {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// contains reports whether sorted ids have one.
func contains(ids []id, n id) bool {
	_, found := slices.BinarySearch(ids, n)
	return found
}
