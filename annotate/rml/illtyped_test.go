package rml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

const illTypedMapping = prefixes + `map:M a rr:TriplesMap ; rml:logicalSource [
    rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$[*]" ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:celsius ; rr:objectMap [ rml:reference "celsius" ; rr:datatype xsd:decimal ] ] ;
  rr:predicateObjectMap [ rr:predicate ex:since ; rr:objectMap [ rml:reference "since" ; rr:datatype xsd:dateTime ] ] .`

func TestMapper_IllTyped_describesTheFirstOfEachTermMap(t *testing.T) {
	for _, dialect := range []rml.Dialect{rml.DialectRML, rml.DialectCARML} {
		m := newMapper(t, illTypedMapping, &rml.Options{Dialect: dialect})
		for range 2 { // a run forgets what the one before had
			_, err := m.Append(nil, []byte(`[{"id": 1, "celsius": "4.5"}, {"id": 2, "celsius": "4,5"},
				{"id": 3, "celsius": "5,5", "since": "now"}]`))
			require.NoError(t, err)
			require.Equal(t, 3, m.Tally().IllTyped)
			require.Equal(t, []rml.IllTyped{
				{
					Node: "object map of predicate-object map of triples map map:M (mapping line 11)", Place: "/1/celsius", Text: "4,5",
					Datatype: "http://www.w3.org/2001/XMLSchema#decimal", Count: 2,
				},
				{
					Node: "object map of predicate-object map of triples map map:M (mapping line 12)", Place: "/2/since", Text: "now",
					Datatype: "http://www.w3.org/2001/XMLSchema#dateTime", Count: 1,
				},
			}, m.IllTyped())
			require.Equal(t, `"4,5" at /1/celsius, which xsd:decimal does not have`, m.IllTyped()[0].String())
		}
		_, err := m.Append(nil, []byte(`[{"id": 1, "celsius": "4.5"}]`))
		require.NoError(t, err)
		require.Empty(t, m.IllTyped())
	}
}

func TestMapper_IllTyped_isBounded(t *testing.T) {
	var mapping strings.Builder
	mapping.WriteString(prefixes + `map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://a/{id}" ] `)
	for i := range 30 {
		fmt.Fprintf(&mapping, `; rr:predicateObjectMap [ rr:predicate ex:p%d ;
  rr:objectMap [ rml:reference "v" ; rr:datatype xsd:int ] ] `, i)
	}
	m := newMapper(t, mapping.String()+".", nil)
	_, err := m.Append(nil, []byte(`{"id": 1, "v": "`+strings.Repeat("x", 1000)+`"}`))
	require.NoError(t, err)
	require.Equal(t, 30, m.Tally().IllTyped)
	require.Len(t, m.IllTyped(), 20)
	require.Len(t, m.IllTyped()[0].Text, 100)
}

func TestMapper_Trace_marksIllTypedLiterals(t *testing.T) {
	made, err := newMapper(t, illTypedMapping, nil).Trace([]byte(`[{"id": 1, "celsius": "4,5", "since": "2026-01-01T00:00:00Z"}]`))
	require.NoError(t, err)
	require.Len(t, made, 2)
	require.Equal(t, "xsd:decimal does not have this text", made[0].IllTyped)
	require.Empty(t, made[1].IllTyped)
}

func TestPlan_LintSample_findsIllTypedLiterals(t *testing.T) {
	findings, err := newPlan(t, illTypedMapping).LintSample(t.Context(), rml.LocalFiles("",
		strings.NewReader(`[{"id": 1, "celsius": "4,5", "since": "2026-01-01T00:00:00Z"}, {"id": 1, "celsius": "5,5"}]`)))
	require.NoError(t, err)
	require.Equal(t, `mapping line 11, object map of predicate-object map of triples map map:M: 2 literals of the sample with a text that `+
		`the datatype does not have, such as "4,5" at /0/celsius, which xsd:decimal does not have`, messages(findings))
	findings, err = newPlan(t, illTypedMapping).LintSample(t.Context(), rml.LocalFiles("",
		strings.NewReader(`[{"id": 1, "celsius": "4,5", "since": "2026-01-01T00:00:00Z"}]`)))
	require.NoError(t, err)
	require.Contains(t, messages(findings), "one literal of the sample with a text that the datatype does not have, such")
}

func TestPlan_LintSample_findsRecordsWithoutStatements(t *testing.T) {
	const mapping = prefixes + `map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ; rr:termType rr:IRI ] ] .`
	findings, err := newPlan(t, mapping).LintSample(t.Context(), rml.LocalFiles("", strings.NewReader(`{"id":1,"v":"a b"}`)))
	require.NoError(t, err)
	require.Contains(t, messages(findings), "no statement is generated from the one record of the sample")
}
