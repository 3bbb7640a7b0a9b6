package paessler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/paessler"
)

// An iterator that selects an array maps its elements, as with the built-in
// engine.
func TestJSONPath_mapsTheElementsOfAnArrayIteratorInLegacyMappings(t *testing.T) {
	mapping, err := rml.Load([]byte(`@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix ex: <http://example.com/ns#> .
ex:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a <http://carml.taxonic.com/carml/Stream> ] ;
  rml:referenceFormulation ql:JSONPath ; rml:iterator "$.list" ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ] .`), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping,
		&rml.Options{Evaluators: map[rml.Formulation]rml.Evaluator{rml.JSONPath: paessler.JSONPath()}})
	require.NoError(t, err)
	m := plan.NewMapper()
	quads, err := m.Quads([]byte(`{"list":[{"id":1},null,{"id":2}]}`))
	require.NoError(t, err)
	require.Len(t, quads, 2)
	require.Equal(t, 3, m.Tally().Records)
}
