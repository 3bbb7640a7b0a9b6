package rml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// The short ways of a plan give what the long ways do: the same statements in
// the same order, each once, or the same error.
func TestPlan_fastPathsAgreeWithTheGeneralPath(t *testing.T) {
	objects := map[string][]string{
		"rml": {
			`rml:reference "v"`, `rml:reference "v" ; rr:datatype xsd:integer`, `rml:reference "v" ; rr:datatype xsd:double`,
			`rml:reference "v" ; rr:language "en"`, `rml:reference "v" ; rr:termType rr:IRI`, `rml:reference "v" ; ` +
				`rr:termType rr:BlankNode`,
			`rr:template "http://o/{v}"`, `rr:template "{v}{w}" ; rr:termType rr:Literal`, `rr:template "{v}" ; ` +
				`rr:termType rr:Literal ; rr:datatype xsd:integer`,
			`rr:constant "x"`, `rr:constant ex:o`, `rml:reference "v" ; rml:languageMap [ rml:reference "w" ]`, `rr:termType rr:BlankNode`,
			`rr:parentTriplesMap map:M`, `rr:parentTriplesMap map:M ; rr:joinCondition [ rr:child "v" ; rr:parent "w" ]`,
		},
		"new": {
			`new:reference "$.v"`, `new:reference "$.v" ; new:datatype xsd:double`, `new:reference "$.v[*]" ; ` +
				`new:datatype xsd:boolean`,
			`new:reference "$.v" ; new:termType new:URI`, `new:template "{$.v}" ; new:termType new:UnsafeIRI`, `new:template "{$.v[*]}-{$.w}"`,
			`new:reference "$.v" ; new:datatypeMap [ new:template "http://d/{$.w}" ]`,
		},
	}
	messages := []string{
		`{}`, `{"id":1}`, `{"id":1,"v":"a\"\n b","w":"en"}`, `{"id":1,"v":5,"w":5}`, `{"id":1,"v":1.50,"w":"x y"}`,
		`{"id":1,"v":true}`, `{"id":1,"v":null,"w":1}`,
		`{"id":[1,2],"v":"x","w":"x"}`, `{"id":1,"v":["x","x",7,null],"w":["en","de"]}`, `{"id":1,"v":{"a":1}}`,
		`{"id":1,"v":[["x"]]}`, `{"id":1,"v":"http://z/é","w":"a"}`, `{"id":1,"v":""}`, `{"id":1,"v":"x"`,
		`[{"id":1,"v":1,"w":2},{"id":1,"v":1,"w":1},{"id":2,"v":2,"w":1}]`,
	}
	const extra = "@prefix new: <http://w3id.org/rml/> .\n"
	variants := map[string][2]bool{"long": {false, false}, "doubtful": {true, true}, "long and doubtful": {false, true}}
	for vocabulary, terms := range objects {
		for i, a := range terms {
			for _, b := range terms[i:] {
				for _, form := range []struct {
					source, predicates string
					opts               rml.Options
				}{
					{"$", "ex:p ex:q", rml.Options{}}, {"$", "ex:p ex:p", rml.Options{Strict: true}},
					{"$[*]", "ex:p ex:p", rml.Options{Format: rdf.NQuads}}, {"$", "ex:p ex:p", rml.Options{Format: rdf.Turtle}},
				} {
					predicates := strings.Fields(form.predicates)
					text := prefixes + extra + "map:M a rr:TriplesMap ; " +
						strings.Replace(jsonStream, `"$"`, `"`+form.source+`"`, 1) +
						fmt.Sprintf(` rr:subjectMap [ rr:template "http://s/{id}" ] ; rr:predicateObjectMap [ rr:predicate %s ; `+
							`rr:objectMap [ %s ] ], [ rr:predicate %s ; rr:objectMap [ %s ] ] .`, predicates[0], a, predicates[1], b)
					mapping, err := rml.Load([]byte(text), nil)
					require.NoError(t, err, text)
					plan, err := rml.Compile(mapping, &form.opts)
					require.NoError(t, err)
					short := plan.NewMapper()
					for name, v := range variants {
						long := rml.Variant(plan, v[0], v[1]).NewMapper()
						for _, message := range messages {
							want, wantErr := long.Append(nil, []byte(message))
							got, gotErr := short.Append(nil, []byte(message))
							where := fmt.Sprintf("%s, %s: %s | %s of %s", vocabulary, name, a, b, message)
							require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr), where)
							require.Equal(t, string(want), string(got), where)
							quads, quadsErr := short.Quads([]byte(message))
							require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(quadsErr), where)
							seen := make(map[rdf.Quad]bool)
							for _, q := range quads {
								require.False(t, seen[q], "%s: %v is there twice", where, q)
								seen[q] = true
							}
							if form.opts.Format != rdf.Turtle && wantErr == nil {
								require.Equal(t, len(quads), strings.Count(string(got), "\n"), where)
							}
						}
					}
				}
			}
		}
	}
}
