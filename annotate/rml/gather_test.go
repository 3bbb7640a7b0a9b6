package rml_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

const listPrefixes = prefixes +
	"@prefix new: <http://w3id.org/rml/> .\n@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"

// refersTo is a mapping whose first triples map refers to the subjects of the
// second, by a join and without one.
func refersTo(source, subject, join string) string {
	return listPrefixes + `map:M a rr:TriplesMap ; ` + source + ` rr:subjectMap [ rr:template "http://s/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap map:L ` + join + ` ] ] .
map:L a rr:TriplesMap ; ` + source + ` rr:subjectMap [ ` + subject +
		` ] ; rr:predicateObjectMap [ rr:predicate ex:q ; rr:objectMap [ rml:reference "id" ] ] .`
}

var joins = map[string]string{"joined": `; rr:joinCondition [ rr:child "id" ; rr:parent "id" ]`, "not joined": ""}

// What a triples map refers to is the collection that the other one generates, not
// a second one, nor more members of it.
func TestMapper_Append_makesReferencedCollectionsOnce(t *testing.T) {
	const list = `new:gatherAs rdf:List ; new:gather ( [ rml:reference "v[*]" ] )`
	const message = `[{"id":1,"v":["a","b"]},{"id":2,"v":["c"]}]`
	for name, subject := range map[string]string{
		"named":   `rr:template "http://l/{id}" ; ` + list,
		"unnamed": list,
		"a bag":   strings.Replace(list, "List", "Bag", 1),
	} {
		for how, join := range joins {
			t.Run(name+", "+how, func(t *testing.T) {
				mapping := refersTo(strings.Replace(jsonStream, `"$"`, `"$[*]"`, 1), subject, join)
				quads, err := newMapper(t, mapping, nil).Quads([]byte(message))
				require.NoError(t, err)
				named := make(map[string]rdf.Term) // the heads, by what is said about them
				members := 0
				for _, q := range quads {
					switch {
					case q.Predicate.Value == "http://example.com/ns#p":
						named[strings.TrimPrefix(q.Subject.Value, "http://s/")] = q.Object
					case q.Object.Value == "a", q.Object.Value == "b", q.Object.Value == "c":
						members++
					}
				}
				require.Equal(t, 3, members, "%v", quads)
				require.Len(t, named, 2)
				for _, q := range quads {
					if q.Predicate.Value == "http://example.com/ns#q" {
						require.Equal(t, named[q.Object.Value], q.Subject)
					}
				}
			})
		}
	}
}

// A blank node without a name is the same for those who refer to it, however
// the source is read.
func TestMapper_Append_reusesTheBlankNodesOfUnnamedSubjects(t *testing.T) {
	sources := map[string]struct{ source, text string }{
		"JSON": {
			`rml:logicalSource [ rml:source "a.json" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$[*]" ] ; `,
			`[{"id":1},{"id":2}]`,
		},
		"lines": {
			`rml:logicalSource [ rml:source "a.ndjson" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ; `,
			"{\"id\":1}\r\n\r\n{\"id\":2}",
		},
		"CSV": {`rml:logicalSource [ rml:source "a.csv" ; rml:referenceFormulation ql:CSV ] ; `, "\xEF\xBB\xBFid\n1\n2"},
	}
	for name, s := range sources {
		for how, join := range joins {
			t.Run(name+", "+how, func(t *testing.T) {
				m := newMapper(t, refersTo(s.source, "new:termType new:BlankNode", join), nil)
				files := rml.Files{
					Open: func(rml.Source) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s.text)), nil },
				}
				var out strings.Builder
				require.NoError(t, m.Run(t.Context(), &out, files))
				nodes := make(map[string]string)
				for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
					words := strings.Fields(line)
					if words[1] == "<http://example.com/ns#p>" {
						nodes[words[2]] = strings.TrimSuffix(strings.TrimPrefix(words[0], "<http://s/"), ">")
					}
				}
				require.Len(t, nodes, 2, out.String())
				for node, id := range nodes {
					require.Contains(t, out.String(), node+` <http://example.com/ns#q> "`+id+`" .`)
				}
			})
		}
	}
}

func TestMapper_Append_checksTheTextOfEveryLiteral(t *testing.T) {
	const object = jsonStream +
		` rr:subjectMap [ rr:template "http://s/{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ %s ] ] .`
	const new = "<http://w3id.org/rml/"
	cases := map[string]struct{ object, want string }{
		"a template": {
			new + `template> "{$.v}" ; ` + new + `termType> ` + new + `Literal> ; ` + new + `datatype> xsd:integer`,
			`"x" is not in the lexical space`,
		},
		"a datatype map": {
			new + `reference> "$.v" ; ` + new + `datatypeMap> [ ` + new + `reference> "$.d" ]`,
			`"x" is not in the lexical space`,
		},
		"a map to langString": {
			new + `reference> "$.v" ; ` + new + `datatypeMap> [ ` + new + `reference> "$.l" ]`,
			`expected a language`,
		},
		"a URI": {new + `template> "http://a/é{$.v}" ; ` + new + `termType> ` + new + `URI>`, `is not allowed`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := mapOne(t, strings.Replace(object, "%s", c.object, 1),
				`{"id":1,"v":"x","d":"http://www.w3.org/2001/XMLSchema#integer","l":"http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}`, nil)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "object map")
		})
	}
	_, err := rml.Load([]byte(prefixes+"map:M a rr:TriplesMap ; "+
		strings.Replace(object, "%s",
			`rml:reference "v" ; rr:datatype <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>`, 1)), nil)
	require.ErrorContains(t, err, "expected a language")
}

// The statements of a collection go where those with its head go, and those of
// a join where those of the subject go that they refer to.
func TestMapper_Run_writesCollectionsAndJoinsToTheirTargets(t *testing.T) {
	const target = `; new:logicalTarget [ new:target [ new:path "x.nt" ] ; new:serialization ` +
		`<http://www.w3.org/ns/formats/N-Triples> ]`
	for name, subject := range map[string]string{
		"a list": `new:gatherAs rdf:List ; new:gather ( [ rml:reference "v[*]" ] ) ` +
			target, "a named bag": `rr:template "http://l/{id}" ; new:gatherAs rdf:Bag ; new:gather ( [ rml:reference ` +
			`"v[*]" ] ) ` + target,
	} {
		for how, join := range joins {
			t.Run(name+", "+how, func(t *testing.T) {
				m := newMapper(t, refersTo(strings.Replace(jsonStream, `"$"`, `"$[*]"`, 1), subject, join), nil)
				var out strings.Builder
				var sent memoryTarget
				require.NoError(t, m.Run(t.Context(), &out, rml.Files{
					Open:   rml.LocalFiles("", strings.NewReader(`[{"id":1,"v":["a","b"]}]`)).Open,
					Create: func(rml.Target) (rml.TargetWriter, error) { return &sent, nil },
				}))
				require.Empty(t, out.String())
				require.Contains(t, sent.String(), `"a"`)
				require.Contains(t, sent.String(), `<http://s/1>`)
			})
		}
	}
}

// memoryTarget is a target that is kept in memory.
type memoryTarget struct{ strings.Builder }

func (*memoryTarget) Commit() error { return nil }
func (*memoryTarget) Abort() error  { return nil }
