package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

func TestRead_indexesStatementsBySubject(t *testing.T) {
	g, err := document.Read([]byte(`@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix new: <http://w3id.org/rml/> .
@prefix ex: <http://example.com/> .
ex:M a rr:TriplesMap ;
  rr:subject ex:s, ex:t ; new:subject ex:s .
ex:N new:iterator "$" .
`), rdf.ReaderOptions{Base: "http://example.com/base/"})
	require.NoError(t, err)
	require.Equal(t, []rdf.Term{rdf.NewIRI("http://example.com/M"), rdf.NewIRI("http://example.com/N")}, g.Subjects)
	m := g.About(g.Subjects[0])
	require.Equal(t, 4, m.Line)
	require.True(t, m.IsA("TriplesMap"))
	require.Equal(t, document.Modern, m.Generation(), "as soon as one property is of the new vocabulary")
	require.Equal(t, []rdf.Term{rdf.NewIRI("http://example.com/s"), rdf.NewIRI("http://example.com/t")}, m.All("subject"),
		"an object that two IRIs of one property have counts once")
	require.Empty(t, g.About(rdf.NewIRI("http://example.com/absent")).Statements)
	require.Equal(t, "ex:M", g.Write(g.Subjects[0]))
	require.Equal(t, "<x>", g.Shorten("http://example.com/base/x"))
}

func TestLocalName_joinsTheGenerations(t *testing.T) {
	for iri, want := range map[string]struct {
		name       string
		generation document.Vocabulary
	}{
		"http://www.w3.org/ns/r2rml#template":           {"template", document.Legacy},
		"http://w3id.org/rml/template":                  {"template", document.Modern},
		"http://carml.taxonic.com/carml/multiReference": {"reference", document.Legacy},
		"http://semweb.mmlab.be/ns/fnml#execution":      {"functionExecution", document.Legacy},
	} {
		name, generation, ok := document.LocalName(iri)
		require.True(t, ok, iri)
		require.Equal(t, want.name, name)
		require.Equal(t, want.generation, generation)
	}
	_, _, ok := document.LocalName("http://example.com/template")
	require.False(t, ok)
}

func TestParseTemplate_splitsTextAndReferences(t *testing.T) {
	segments, err := document.ParseTemplate(`http://a/{x}\{{y\}}`)
	require.NoError(t, err)
	require.Equal(t, []document.Segment{{Text: "http://a/"}, {Ref: "x"}, {Text: "{"}, {Ref: "y}"}}, segments)
	for _, bad := range []string{`{`, `}`, `{}`, `{a{b}}`, `\`, `\a`} {
		_, err := document.ParseTemplate(bad)
		require.Error(t, err, bad)
	}
}
