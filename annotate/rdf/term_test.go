package rdf_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

func show(t rdf.Term) { fmt.Printf("%s\n", rdf.AppendTerm(nil, t)) }

func ExampleNewIRI() {
	show(rdf.NewIRI("http://example.org/station"))
	// Output: <http://example.org/station>
}

func ExampleNewBlank() {
	show(rdf.NewBlank("b1"))
	// Output: _:b1
}

func ExampleNewLiteral() {
	show(rdf.NewLiteral("21.5 °C"))
	// Output: "21.5 °C"
}

func ExampleNewTyped() {
	show(rdf.NewTyped("21.5", rdf.XSDDecimal))
	// Output: "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>
}

func ExampleNewLang() {
	show(rdf.NewLang("Wetterwarte", "de"))
	// Output: "Wetterwarte"@de
}

func ExampleParseFormat() {
	f, err := rdf.ParseFormat("ttl")
	fmt.Println(f, f.Syntax().MediaType, err)
	// Output: turtle text/turtle <nil>
}

func TestTerm_isComparable(t *testing.T) {
	require.Equal(t, rdf.NewLiteral("x"), rdf.NewTyped("x", rdf.XSDString))
	require.NotEqual(t, rdf.NewLiteral("x"), rdf.NewLang("x", "en"))
	require.NotEqual(t, rdf.NewLiteral("x"), rdf.NewIRI("x"))
	require.True(t, rdf.Term{}.IsZero())
}
