package rml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// graph is a mapping document, indexed by subject.
type graph struct {
	base     string
	prefixes []rdf.Prefix
	subjects []rdf.Term // in order of appearance
	index    map[rdf.Term]*resource
	seen     map[rdf.Quad]struct{} // a document is a set of statements
}

// resource is what a mapping document says about one subject.
type resource struct {
	term       rdf.Term
	line       int // of the first statement
	statements []statement
}

type statement struct {
	predicate string
	name      string // local name, when the predicate is of the language
	modern    bool   // whether the predicate is of the new vocabulary
	object    rdf.Term
	line      int
}

// maxPrefixes bounds what is gone through each time that an IRI is shortened.
const maxPrefixes = 1000

// readGraph reads a mapping document. Its size and nesting are bounded by the
// reader.
func readGraph(src []byte, opts rdf.ReaderOptions) (*graph, error) {
	reader, err := rdf.NewReader(bytes.NewReader(src), rdf.Turtle, &opts)
	if err != nil {
		return nil, err
	}
	g := &graph{index: make(map[rdf.Term]*resource), seen: make(map[rdf.Quad]struct{})}
	for {
		q, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &MappingError{Reason: fmt.Sprintf("not valid Turtle: %v", err)}
		}
		g.add(q, reader.Line())
	}
	g.base, g.prefixes = reader.Base(), reader.Prefixes()
	if len(g.prefixes) > maxPrefixes {
		return nil, &MappingError{Reason: fmt.Sprintf("it declares %d prefixes: expected at most %d", len(g.prefixes), maxPrefixes)}
	}
	return g, nil
}

func (g *graph) add(q rdf.Quad, line int) {
	if _, said := g.seen[q]; said {
		return
	}
	g.seen[q] = struct{}{}
	r := g.index[q.Subject]
	if r == nil {
		r = &resource{term: q.Subject, line: line}
		g.index[q.Subject] = r
		g.subjects = append(g.subjects, q.Subject)
	}
	s := statement{predicate: q.Predicate.Value, object: q.Object, line: line}
	if name, generation, ok := localName(s.predicate); ok {
		s.name, s.modern = name, generation == modern
	}
	r.statements = append(r.statements, s)
}

// about returns what the document says about a term; an empty resource when it
// says nothing.
func (g *graph) about(t rdf.Term) *resource {
	if r := g.index[t]; r != nil {
		return r
	}
	return &resource{term: t}
}

// all returns the objects of a property of the language, in document order.
func (r *resource) all(name string) []rdf.Term {
	var objects []rdf.Term
	var said map[rdf.Term]struct{} // under another IRI of the property
	predicate := ""
	for _, s := range r.statements {
		if s.name != name {
			continue
		}
		switch {
		case said != nil:
		case predicate == "":
			predicate = s.predicate
		case predicate != s.predicate:
			said = make(map[rdf.Term]struct{})
			for _, object := range objects {
				said[object] = struct{}{}
			}
		}
		if said != nil {
			if _, again := said[s.object]; again {
				continue
			}
			said[s.object] = struct{}{}
		}
		objects = append(objects, s.object)
	}
	return objects
}

// has reports whether the resource has a property of the language.
func (r *resource) has(name string) bool {
	return slices.ContainsFunc(r.statements, func(s statement) bool { return s.name == name })
}

// value returns the first object of a property given by its full IRI.
func (r *resource) value(predicate string) (rdf.Term, bool) {
	for _, s := range r.statements {
		if s.predicate == predicate {
			return s.object, true
		}
	}
	return rdf.Term{}, false
}

// isA reports whether the resource has a class of the language.
func (r *resource) isA(class string) bool {
	for _, s := range r.statements {
		if s.predicate == rdf.Type {
			if name, _, ok := localName(s.object.Value); ok && name == class {
				return true
			}
		}
	}
	return false
}

// generation returns the vocabulary the resource is written in: modern as soon
// as one of its properties is.
func (r *resource) generation() vocabulary {
	if slices.ContainsFunc(r.statements, func(s statement) bool { return s.modern }) {
		return modern
	}
	return legacy
}

// write renders a term the way the mapping would write it.
func (g *graph) write(t rdf.Term) string {
	if t.Kind == rdf.IRI {
		return g.shorten(t.Value)
	}
	return string(rdf.AppendTerm(nil, t))
}

func (g *graph) shorten(iri string) string {
	short := "<" + iri + ">"
	for _, p := range g.prefixes {
		if rest, ok := strings.CutPrefix(iri, p.IRI); ok && p.IRI != "" && !strings.ContainsAny(rest, "/#?:") {
			if s := p.Name + ":" + rest; len(s) < len(short) {
				short = s
			}
		}
	}
	if rest, ok := strings.CutPrefix(iri, g.base); ok && g.base != "" && rest != "" && len(rest)+2 < len(short) {
		short = "<" + rest + ">"
	}
	return short
}
