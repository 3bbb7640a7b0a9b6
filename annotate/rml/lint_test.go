package rml_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

func newPlan(t *testing.T, mapping string) *rml.Plan { return newPlanWith(t, mapping, nil) }

func newPlanWith(t *testing.T, mapping string, opts *rml.Options) *rml.Plan {
	t.Helper()
	m, err := rml.Load([]byte(mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(m, unhurried(opts))
	require.NoError(t, err)
	return plan
}

func messages(findings []rml.Finding) string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

func TestPlan_Lint_findsNothingInAGoodMapping(t *testing.T) {
	for name, s := range samples {
		require.Empty(t, messages(newPlan(t, s.mapping).Lint()), name)
		findings, err := newPlan(t, s.mapping).LintSample(context.Background(),
			rml.LocalFiles("", strings.NewReader(s.message)))
		require.NoError(t, err)
		require.Empty(t, messages(findings), name)
	}
}

func TestPlan_Lint_findsProbableMistakes(t *testing.T) {
	for name, c := range map[string]struct{ mapping, want string }{
		"nothing made": {jsonStream + ` rr:subject ex:s .`, "mapping line 8, triples map map:M: it generates no statement"},
		"no reference": {
			jsonStream + ` rr:subjectMap [ rr:constant ex:s ; rr:class ex:C ] .`,
			"every record generates the same statements",
		},
		"constant template": {
			jsonStream + ` rr:subjectMap [ rr:template "http://a/b" ; rr:class ex:C ] .`,
			"its template has no reference",
		},
		"raw IRI": {
			jsonStream + ` rr:subjectMap [ rml:reference "id" ; rr:class ex:C ] .`,
			"is not a valid IRI drops its statements",
		},
		"said twice": {
			jsonStream + ` rr:subjectMap [ rr:template "{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; ` +
				`rr:objectMap [ rml:reference "v" ] ], [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`,
			"it generates the same statement twice",
		},
		"no such datatype": {
			jsonStream + ` rr:subjectMap [ rr:template "{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; ` +
				`rr:objectMap [ rml:reference "v" ; rr:datatype xsd:datetime ] ] .`,
			`XML Schema has no term "datetime"`,
		},
		"no such RDF term": {
			jsonStream + ` rr:subjectMap [ rr:template "{id}" ] ; rr:predicateObjectMap [ rr:predicate ` +
				`<http://www.w3.org/1999/02/22-rdf-syntax-ns#Type> ; rr:object ex:C ] .`,
			`RDF has no term "Type"`,
		},
		"self join": {
			jsonStream + ` rr:subjectMap [ rr:template "{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; ` +
				`rr:objectMap [ rr:parentTriplesMap map:M ; rr:joinCondition [ rr:child "id" ; rr:parent "id" ] ] ] .`,
			"without a joinCondition the subject of the same record is meant",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, messages(newPlan(t, prefixes+"map:M a rr:TriplesMap ; "+c.mapping).Lint()), c.want)
		})
	}
	require.Contains(t, messages(newPlan(t,
		strings.Replace(prefixes, "XMLSchema#", "XMLSchema/", 1)+"map:M a rr:TriplesMap ; "+jsonStream+
			` rr:subjectMap [ rr:template "{id}" ; rr:class ex:C ] .`).Lint()), "the prefix xsd: stands for")
}

func TestPlan_LintSample_findsDeadReferences(t *testing.T) {
	const mapping = prefixes + `map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "temprature" ] ] .
map:N a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
  rml:referenceFormulation ql:JSONPath ; rml:iterator "$.items[*]" ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ] .`
	findings, err := newPlan(t, mapping).LintSample(context.Background(),
		rml.LocalFiles("", strings.NewReader(`{"id":1,"temperature":20}`)))
	require.NoError(t, err)
	require.Equal(t, `mapping line 9, object map of predicate-object map of triples map map:M: its reference `+
		`"temprature" has no value in any of the 1 records of the sample where it was looked up
mapping line 10, triples map map:N: its iterator selects no record of the sample`, messages(findings))
}

func TestPlan_Explain_describesThePlan(t *testing.T) {
	const mapping = prefixes + `map:M a rr:TriplesMap ; ` + jsonStream +
		` rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ; rr:graph ex:g ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:int ] ] ;
  rr:predicateObjectMap [ rr:predicate ex:q ; rr:objectMap [ rr:parentTriplesMap map:N ; rr:joinCondition [
  rr:child "a" ; rr:parent "b" ] ] ] .
map:N a rr:TriplesMap ; rml:logicalSource [ rml:source "n.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rml:reference "x" ; rr:termType rr:BlankNode ] .`
	require.Equal(t, `output: ntriples
input 0: the unnamed stream, JSONPath, streamed
input 1: file "n.csv", CSV, streamed
triples map map:M (mapping line 8): each record of $ of input 0
  subject IRI http://a/{id}
  graph <http://example.com/ns#g>
  cost: 5 references per record, one join by an index over all records of the parent, built for every message
  predicate <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>, combined on stacks
    object <http://example.com/ns#C>
  predicate <http://example.com/ns#p>, combined on stacks
    object literal v^^<http://www.w3.org/2001/XMLSchema#int>
  predicate <http://example.com/ns#q>, combined on stacks
    object blank node x of input 1 where a = b, by a hash index
triples map map:N (mapping line 12): each record of input 1
  subject blank node x
  cost: one reference per record
`, newPlan(t, mapping).Explain())
}
