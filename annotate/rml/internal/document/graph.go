package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// Graph is a mapping document, indexed by subject.
type Graph struct {
	base     string
	Prefixes []rdf.Prefix
	Subjects []rdf.Term // in order of appearance
	Index    map[rdf.Term]*Resource
	seen     map[rdf.Quad]struct{} // a document is a set of statements
}

// Resource has the statements of a mapping document about one subject.
type Resource struct {
	Term       rdf.Term
	Line       int // of the first statement
	Statements []statement
}

type statement struct {
	Predicate string
	Name      string // local name, when the predicate is of the language
	modern    bool   // whether the predicate is of the new vocabulary
	Object    rdf.Term
	line      int
}

// maxPrefixes bounds the loop over the prefixes for each IRI that is shortened.
const maxPrefixes = 1000

// Read reads a mapping document in Turtle. Its size and nesting are bounded by the
// reader.
func Read(src []byte, opts rdf.ReaderOptions) (*Graph, error) {
	reader, err := rdf.NewReader(bytes.NewReader(src), rdf.Turtle, &opts)
	if err != nil {
		return nil, err
	}
	g := empty()
	for {
		q, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not valid Turtle: %w", err)
		}
		g.Add(q, reader.Line())
	}
	return g.declare(reader.Base(), reader.Prefixes())
}

// New returns a document without statements.
func New(base string, prefixes []rdf.Prefix) (*Graph, error) { return empty().declare(base, prefixes) }

func empty() *Graph {
	return &Graph{Index: make(map[rdf.Term]*Resource), seen: make(map[rdf.Quad]struct{})}
}

func (g *Graph) declare(base string, prefixes []rdf.Prefix) (*Graph, error) {
	if len(prefixes) > maxPrefixes {
		return nil, fmt.Errorf("it declares %d prefixes: expected at most %d", len(prefixes), maxPrefixes)
	}
	g.base = base
	g.Prefixes = prefixes
	return g, nil
}

// Add adds a statement that begins on a line.
func (g *Graph) Add(q rdf.Quad, line int) {
	if _, said := g.seen[q]; said {
		return
	}
	g.seen[q] = struct{}{}
	r := g.Index[q.Subject]
	if r == nil {
		r = &Resource{Term: q.Subject, Line: line}
		g.Index[q.Subject] = r
		g.Subjects = append(g.Subjects, q.Subject)
	}
	s := statement{Predicate: q.Predicate.Value, Object: q.Object, line: line}
	if name, generation, ok := LocalName(s.Predicate); ok {
		s.Name = name
		s.modern = generation == Modern
	}
	r.Statements = append(r.Statements, s)
}

// About returns the resource of a term. It is empty when the document has no
// statement about the term.
func (g *Graph) About(t rdf.Term) *Resource {
	if r := g.Index[t]; r != nil {
		return r
	}
	return &Resource{Term: t}
}

// All returns the objects of a property of the language, in document order.
func (r *Resource) All(name string) []rdf.Term {
	var objects []rdf.Term
	var said map[rdf.Term]struct{} // under another IRI of the property
	predicate := ""
	for _, s := range r.Statements {
		if s.Name != name {
			continue
		}
		switch {
		case said != nil:
		case predicate == "":
			predicate = s.Predicate
		case predicate != s.Predicate:
			said = make(map[rdf.Term]struct{})
			for _, object := range objects {
				said[object] = struct{}{}
			}
		}
		if said != nil {
			if _, again := said[s.Object]; again {
				continue
			}
			said[s.Object] = struct{}{}
		}
		objects = append(objects, s.Object)
	}
	return objects
}

// Has reports whether the resource has a property of the language.
func (r *Resource) Has(name string) bool {
	return slices.ContainsFunc(r.Statements, func(s statement) bool { return s.Name == name })
}

// Value returns the first object of a property given by its full IRI.
func (r *Resource) Value(predicate string) (rdf.Term, bool) {
	for _, s := range r.Statements {
		if s.Predicate == predicate {
			return s.Object, true
		}
	}
	return rdf.Term{}, false
}

// IsA reports whether the resource has a class of the language.
func (r *Resource) IsA(class string) bool {
	for _, s := range r.Statements {
		if s.Predicate == rdf.Type {
			if name, _, ok := LocalName(s.Object.Value); ok && name == class {
				return true
			}
		}
	}
	return false
}

// Generation returns the vocabulary the resource is written in: modern as soon
// as one of its properties is.
func (r *Resource) Generation() Vocabulary {
	if slices.ContainsFunc(r.Statements, func(s statement) bool { return s.modern }) {
		return Modern
	}
	return Legacy
}

// Write renders a term in the notation of the mapping document.
func (g *Graph) Write(t rdf.Term) string {
	if t.Kind == rdf.IRI {
		return g.Shorten(t.Value)
	}
	return string(rdf.AppendTerm(nil, t))
}

// Shorten renders an IRI in the notation of the mapping document: with a prefix
// or relative to the base where that is shorter.
func (g *Graph) Shorten(iri string) string {
	short := "<" + iri + ">"
	for _, p := range g.Prefixes {
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
