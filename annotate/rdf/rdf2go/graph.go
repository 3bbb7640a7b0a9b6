// Package rdf2go converts between the statements of package rdf and the graphs
// of github.com/deiu/rdf2go, for programs that use that library.
//
// Only graphs cross the border, never text: the Turtle parser of rdf2go can hang
// forever on malformed input. Read with rdf.Reader, convert, and go on.
package rdf2go

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/deiu/rdf2go"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// FromGraph returns the statements of a graph, each once, ordered by their
// N-Triples form, since a graph of rdf2go has no order of its own. It refuses
// terms that are nil, of a type that is not rdf2go's, or at a place where RDF does
// not allow them. A nil graph has no statements.
func FromGraph(g *rdf2go.Graph) ([]rdf.Quad, error) {
	if g == nil {
		return nil, nil
	}
	encoder, err := rdf.NewEncoder(rdf.NTriples, nil)
	if err != nil {
		return nil, err
	}
	type line struct {
		text []byte
		quad rdf.Quad
	}
	var lines []line
	for triple := range g.IterTriples() {
		q, err := fromTriple(triple)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line{encoder.Append(nil, q), q})
	}
	slices.SortFunc(lines, func(a, b line) int { return bytes.Compare(a.text, b.text) })
	quads := make([]rdf.Quad, 0, len(lines))
	for _, l := range lines {
		if n := len(quads); n == 0 || quads[n-1] != l.quad {
			quads = append(quads, l.quad)
		}
	}
	return quads, nil
}

func fromTriple(t *rdf2go.Triple) (rdf.Quad, error) {
	var q rdf.Quad
	if t == nil {
		return q, fmt.Errorf("convert triple: it is nil")
	}
	for _, place := range []struct {
		name string
		from rdf2go.Term
		to   *rdf.Term
		ok   []rdf.Kind
	}{
		{"subject", t.Subject, &q.Subject, []rdf.Kind{rdf.IRI, rdf.Blank}},
		{"predicate", t.Predicate, &q.Predicate, []rdf.Kind{rdf.IRI}},
		{"object", t.Object, &q.Object, []rdf.Kind{rdf.IRI, rdf.Blank, rdf.Literal}},
	} {
		term, err := fromTerm(place.from)
		if err != nil {
			return q, fmt.Errorf("convert triple %q: %s: %w", t, place.name, err)
		}
		if !slices.Contains(place.ok, term.Kind) {
			return q, fmt.Errorf("convert triple %q: the %s is a %T", t, place.name, place.from)
		}
		*place.to = term
	}
	return q, nil
}

func fromTerm(t rdf2go.Term) (rdf.Term, error) {
	switch t := t.(type) {
	case *rdf2go.Resource:
		return rdf.NewIRI(t.URI), nil
	case *rdf2go.BlankNode:
		return rdf.NewBlank(strings.TrimPrefix(t.ID, "_:")), nil
	case *rdf2go.Literal:
		if t.Language != "" {
			return rdf.NewLang(t.Value, strings.TrimPrefix(t.Language, "@")), nil
		}
		switch datatype := t.Datatype.(type) {
		case nil:
			return rdf.NewLiteral(t.Value), nil
		case *rdf2go.Resource:
			return rdf.NewTyped(t.Value, datatype.URI), nil
		}
		return rdf.Term{}, fmt.Errorf("datatype of type %T", t.Datatype)
	}
	return rdf.Term{}, fmt.Errorf("term of type %T", t)
}

// ToGraph returns the statements as a graph, each once. It refuses statements in
// a named graph, which rdf2go cannot hold, and those without subject, predicate or
// object. The URI of the graph is empty.
func ToGraph(quads []rdf.Quad) (*rdf2go.Graph, error) {
	g := rdf2go.NewGraph("")
	seen := make(map[rdf.Quad]bool, len(quads))
	for i, q := range quads {
		if !q.Graph.IsZero() {
			return nil, fmt.Errorf("convert statement %d: it is in the graph %s, and rdf2go has no named graphs", i,
				rdf.AppendTerm(nil, q.Graph))
		}
		if q.Subject.IsZero() || q.Predicate.IsZero() || q.Object.IsZero() {
			return nil, fmt.Errorf("convert statement %d: a term is missing", i)
		}
		if !seen[q] {
			seen[q] = true
			g.AddTriple(toTerm(q.Subject), toTerm(q.Predicate), toTerm(q.Object))
		}
	}
	return g, nil
}

func toTerm(t rdf.Term) rdf2go.Term {
	switch {
	case t.Kind == rdf.IRI:
		return rdf2go.NewResource(t.Value)
	case t.Kind == rdf.Blank:
		return rdf2go.NewBlankNode(t.Value)
	case t.Lang != "":
		return rdf2go.NewLiteralWithLanguage(t.Value, t.Lang)
	case t.Datatype != "":
		return rdf2go.NewLiteralWithDatatype(t.Value, rdf2go.NewResource(t.Datatype))
	}
	return rdf2go.NewLiteral(t.Value)
}
