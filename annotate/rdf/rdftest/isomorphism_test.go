package rdftest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
)

const p = "http://example.org/p"

// edges creates a graph of blank nodes from pairs of labels.
func edges(pairs ...string) []rdf.Quad {
	var quads []rdf.Quad
	for i := 0; i < len(pairs); i += 2 {
		quads = append(quads,
			rdf.Quad{Subject: rdf.NewBlank(pairs[i]), Predicate: rdf.NewIRI(p), Object: rdf.NewBlank(pairs[i+1])})
	}
	return quads
}

func ring(label string, from, n int) []rdf.Quad {
	var quads []rdf.Quad
	for i := range n {
		quads = append(quads, edges(fmt.Sprint(label, from+i), fmt.Sprint(label, from+(i+1)%n))...)
	}
	return quads
}

func ExampleIsomorphic() {
	a := []rdf.Quad{{Subject: rdf.NewBlank("x"), Predicate: rdf.NewIRI(p), Object: rdf.NewLiteral("1")}}
	b := []rdf.Quad{{Subject: rdf.NewBlank("y"), Predicate: rdf.NewIRI(p), Object: rdf.NewLiteral("1")}}
	fmt.Println(rdftest.Isomorphic(a, b))
	// Output: true
}

func TestIsomorphic_ignoresLabelsAndOrder(t *testing.T) {
	require.True(t, rdftest.Isomorphic(edges("a", "b", "b", "c"), edges("y", "x", "z", "y")))
	require.True(t, rdftest.Isomorphic(edges("a", "b", "a", "b"), edges("u", "v")), "duplicates count once")
	require.True(t, rdftest.Isomorphic(nil, nil))
}

func TestIsomorphic_distinguishesShapes(t *testing.T) {
	require.False(t, rdftest.Isomorphic(edges("a", "a"), edges("a", "b")))
	require.False(t, rdftest.Isomorphic(edges("a", "b", "b", "c"), edges("a", "b", "a", "c")))
	require.False(t, rdftest.Isomorphic(edges("a", "b"), edges("a", "b", "b", "a")))
	one := []rdf.Quad{{Subject: rdf.NewIRI(p), Predicate: rdf.NewIRI(p), Object: rdf.NewLiteral("1")}}
	for _, other := range []rdf.Term{
		rdf.NewLiteral("2"),
		rdf.NewTyped("1", rdf.XSDInteger),
		rdf.NewLang("1", "en"),
		rdf.NewIRI("1"),
	} {
		require.False(t, rdftest.Isomorphic(one,
			[]rdf.Quad{{Subject: one[0].Subject, Predicate: one[0].Predicate, Object: other}}))
	}
	named := []rdf.Quad{one[0]}
	named[0].Graph = rdf.NewIRI(p)
	require.False(t, rdftest.Isomorphic(one, named))
}

func TestIsomorphic_comparesSymmetricGraphs(t *testing.T) {
	require.True(t, rdftest.Isomorphic(ring("a", 0, 6), ring("b", 3, 6)))
	two := append(ring("a", 0, 3), ring("a", 10, 3)...)
	require.False(t, rdftest.Isomorphic(ring("a", 0, 6), two), "refinement alone cannot see this")
	require.True(t, rdftest.Isomorphic(two, append(ring("b", 7, 3), ring("b", 1, 3)...)))
}

func TestIsomorphic_comparesLargeGraphs(t *testing.T) {
	var a, b []rdf.Quad
	for i := range 2000 {
		value := rdf.NewLiteral(fmt.Sprint(i))
		a = append(a, rdf.Quad{Subject: rdf.NewBlank(fmt.Sprint("a", i)), Predicate: rdf.NewIRI(p), Object: value})
		b = append(b, rdf.Quad{Subject: rdf.NewBlank(fmt.Sprint("b", 5*i)), Predicate: rdf.NewIRI(p), Object: value})
	}
	require.True(t, rdftest.Isomorphic(a, b))
	b[77].Object = rdf.NewLiteral("other")
	require.False(t, rdftest.Isomorphic(a, b))
}

func TestDiff_showsMissingAndUnexpectedStatements(t *testing.T) {
	s := rdf.NewIRI("http://example.org/s")
	common := edges("a", "b")
	got := append(edges("u", "v"), rdf.Quad{Subject: s, Predicate: rdf.NewIRI(p), Object: rdf.NewLiteral("1")})
	want := append(common, rdf.Quad{Subject: s, Predicate: rdf.NewIRI(p), Object: rdf.NewLiteral("2")})
	require.Equal(t, "got 2 statements, want 2:\n"+
		"+ <http://example.org/s> <http://example.org/p> \"1\" .\n"+
		"- <http://example.org/s> <http://example.org/p> \"2\" .", rdftest.Diff(got, want))
	require.Empty(t, rdftest.Diff(want, want))
	require.Contains(t, rdftest.Diff(edges("a", "b", "b", "c"), edges("a", "b", "a", "c")), "shared")
}
