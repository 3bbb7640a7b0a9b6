package rdf2go_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lib "github.com/deiu/rdf2go"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdf2go"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/internal/conformance"
)

const (
	ex  = "http://example.org/"
	doc = `@prefix ex: <http://example.org/> .
ex:station a ex:Station ; ex:name "Grenz\"übergang"@de, "border" ; ex:height 512 ; ex:near [ ex:name "two\nlines" ] .
_:other ex:near ex:station .
`
)

func read(text string, f rdf.Format) ([]rdf.Quad, error) {
	r, err := rdf.NewReader(strings.NewReader(text), f, &rdf.ReaderOptions{Base: ex})
	if err != nil {
		return nil, err
	}
	var quads []rdf.Quad
	for q, err := range r.All() {
		if err != nil {
			return nil, err
		}
		quads = append(quads, q)
	}
	return quads, nil
}

func parse(t testing.TB, text string, f rdf.Format) []rdf.Quad {
	t.Helper()
	quads, err := read(text, f)
	require.NoError(t, err)
	return quads
}

func ExampleFromGraph() {
	g := lib.NewGraph(ex)
	g.AddTriple(lib.NewResource(ex+"s"), lib.NewResource(ex+"p"), lib.NewLiteral("o"))
	quads, err := rdf2go.FromGraph(g)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(quads[0].Subject.Value, quads[0].Object.Value)
	// Output: http://example.org/s o
}

func ExampleToGraph() {
	g, err := rdf2go.ToGraph([]rdf.Quad{{
		Subject:   rdf.NewIRI(ex + "s"),
		Predicate: rdf.NewIRI(ex + "p"),
		Object:    rdf.NewTyped("1", rdf.XSDInteger),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(g)
	// Output: <http://example.org/s> <http://example.org/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
}

func TestToGraph_roundTrips(t *testing.T) {
	want := parse(t, doc, rdf.Turtle)
	g, err := rdf2go.ToGraph(append(want, want...))
	require.NoError(t, err)
	require.Equal(t, len(want), g.Len(), "each statement once")
	got, err := rdf2go.FromGraph(g)
	require.NoError(t, err)
	require.ElementsMatch(t, want, got)
	again, err := rdf2go.FromGraph(g)
	require.NoError(t, err)
	require.Equal(t, got, again, "the order is always the same")
}

func TestToGraph_refusesStatementsThatRdf2goCannotHold(t *testing.T) {
	q := rdf.Quad{Subject: rdf.NewIRI(ex), Predicate: rdf.NewIRI(ex), Object: rdf.NewIRI(ex), Graph: rdf.NewIRI(ex + "g")}
	_, err := rdf2go.ToGraph([]rdf.Quad{q})
	require.ErrorContains(t, err, "statement 0")
	require.ErrorContains(t, err, "<http://example.org/g>")
	q.Graph, q.Object = rdf.Term{}, rdf.Term{}
	_, err = rdf2go.ToGraph([]rdf.Quad{q})
	require.ErrorContains(t, err, "missing")
}

func TestFromGraph_refusesGraphsThatAreNotRDF(t *testing.T) {
	iri, literal := lib.NewResource(ex), lib.NewLiteral("x")
	for name, triple := range map[string]*lib.Triple{
		"subject":   lib.NewTriple(literal, iri, iri),
		"predicate": lib.NewTriple(iri, lib.NewBlankNode("b"), iri),
		"object":    lib.NewTriple(iri, iri, nil),
		"datatype":  lib.NewTriple(iri, iri, lib.NewLiteralWithDatatype("x", literal)),
		"nil":       nil,
	} {
		g := lib.NewGraph(ex)
		g.Add(triple)
		_, err := rdf2go.FromGraph(g)
		require.ErrorContains(t, err, name)
	}
	none, err := rdf2go.FromGraph(nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

// TestFromGraph_agreesWithTheReader reads well-formed Turtle with both. What rdf2go is
// known to read wrongly (empty collections, escapes in names) is left out.
func TestFromGraph_agreesWithTheReader(t *testing.T) {
	for _, text := range []string{
		doc,
		"<http://example.org/s> <http://example.org/p> \"\"\"long \"text\" \"\"\" , 'single' .\n",
		"@base <http://example.org/a/b> .\n<c> <#d> <../e> , <?f> .\n",
		"@prefix : <http://example.org/> .\n:s :p ( 1 2.5 3e0 true \"x\"@en ) .\n",
		"@prefix : <http://example.org/> .\n[ :p [ :q [ :r :s ] ] ] :t :u .\n",
		"@prefix : <http://example.org/> .\n:s :p \"\\u00e9\\t\\\\\" .\n",
	} {
		want := parse(t, text, rdf.Turtle)
		require.Empty(t, rdftest.Diff(parseWithLibrary(t, text), want), text)
		encoder, err := rdf.NewEncoder(rdf.Turtle, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "ex", IRI: ex}}})
		require.NoError(t, err)
		var out []byte
		for _, q := range want {
			out = encoder.Append(out, q)
		}
		out = encoder.AppendEnd(out)
		require.Empty(t, rdftest.Diff(parseWithLibrary(t, string(out)), want), "%s", out)
	}
}

// rewritten reports whether the parser of rdf2go changes an IRI of the statement:
// it writes characters beyond ASCII as percent escapes and drops an empty fragment.
func rewritten(q rdf.Quad) bool {
	return slices.ContainsFunc([]rdf.Term{q.Subject, q.Predicate, q.Object}, func(t rdf.Term) bool {
		ascii := func(r rune) bool { return r < 0x80 }
		return t.Kind == rdf.IRI && (strings.HasSuffix(t.Value, "#") || strings.TrimFunc(t.Value, ascii) != "")
	})
}

func parseWithLibrary(t *testing.T, text string) []rdf.Quad {
	t.Helper()
	g := lib.NewGraph(ex)
	require.NoError(t, g.Parse(strings.NewReader(text), "text/turtle"))
	quads, err := rdf2go.FromGraph(g)
	require.NoError(t, err)
	return quads
}

// TestToGraph_agreesWithTheEncoder writes the graphs of the W3C suite as
// Turtle and N-Triples and lets rdf2go read them: it is only given text that our
// own reader has accepted.
func TestToGraph_agreesWithTheEncoder(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(conformance.Dir(t, "w3c/turtle"), "*.nt"))
	require.NoError(t, err)
	graphs := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := read(string(data), rdf.NTriples)
		if err != nil || slices.ContainsFunc(want, rewritten) {
			continue // a test of rejection, or an IRI that rdf2go does not keep
		}
		graphs++
		for _, f := range []rdf.Format{rdf.Turtle, rdf.NTriples} {
			encoder, err := rdf.NewEncoder(f, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "a", IRI: "http://a.example/"}}})
			require.NoError(t, err)
			var out []byte
			for _, q := range want {
				out = encoder.Append(out, q)
			}
			out = encoder.AppendEnd(out)
			require.Empty(t, rdftest.Diff(parseWithLibrary(t, string(out)), want), "%s as %s:\n%s", filepath.Base(file), f, out)
		}
	}
	require.Greater(t, graphs, 100)
}
