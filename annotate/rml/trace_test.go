package rml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

func TestMapper_Trace_namesTheRuleOfEachStatement(t *testing.T) {
	m, err := rml.Load([]byte(`@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix ex: <http://example.org/> .
ex:Thing rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/{id}" ;
    rr:class ex:Thing ] ;
  rr:predicateObjectMap [
    rr:predicate ex:name ; rr:objectMap [ rml:reference "name" ] ] ;
  rr:predicateObjectMap [
    rr:predicate ex:label, ex:title ; rr:objectMap [ rml:reference "name" ] ] .
`), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(m, nil)
	require.NoError(t, err)
	mapper := plan.NewMapper()
	made, err := mapper.Trace([]byte(`{"id":1,"name":"n"}`))
	require.NoError(t, err)
	var lines []string
	for _, one := range made {
		lines = append(lines, fmt.Sprintf("%s %d", strings.TrimPrefix(one.Predicate.Value, "http://example.org/"), one.Line))
		require.Contains(t, one.Node, "ex:Thing")
	}
	require.Equal(t, []string{"http://www.w3.org/1999/02/22-rdf-syntax-ns#type 7", "name 9", "label 11", "title 11"}, lines)
	quads, err := mapper.Quads([]byte(`{"id":1,"name":"n"}`))
	require.NoError(t, err)
	require.Len(t, quads, 4)
	_, err = mapper.Trace([]byte(`{`))
	require.Error(t, err)
}
