package rml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

const prefixes = `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix map: <http://example.com/mapping/> .
@prefix ex: <http://example.com/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
`

const jsonStream = `rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; ` +
	`rml:iterator "$" ] ;`

// Each mapping is wrong in one way; the error names the node, says what is
// wrong and what was expected.
func TestLoad_refusesBadMappings(t *testing.T) {
	cases := map[string]struct {
		mapping string
		node    string
		reason  string
	}{
		"not Turtle":     {`this is { not Turtle`, "", "not valid Turtle: line 8"},
		"no triples map": {`ex:a ex:b ex:c .`, "", "it holds no triples map"},
		"no logical source": {
			`map:M a rr:TriplesMap ; rr:subject ex:s .`,
			"triples map map:M",
			"expected exactly one logicalSource",
		},
		"no subject map": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` .`,
			"triples map map:M",
			"it has no subject map",
		},
		"two subject maps": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "{a}" ], [ rr:template "{b}" ] .`,
			"triples map map:M",
			"it has 2 subject maps",
		},
		"literal subject": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "{a}" ; rr:termType rr:Literal ] .`,
			"subject map of triples map map:M",
			"expected IRI or BlankNode",
		},
		"unknown property": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjctMap [ rr:template "{a}" ] ; rr:subject ex:s .`,
			"triples map map:M",
			"rr:subjctMap does not belong here: expected one of",
		},
		"no table": {
			`map:M a rr:TriplesMap ; rr:logicalTable [ rr:sqlVersion rr:SQL2008 ] ; rr:subject ex:s .`,
			"logical table of triples map map:M",
			"expected a tableName",
		},
		"table and query": {
			`map:M a rr:TriplesMap ; rr:logicalTable [ rr:tableName "a" ; rr:sqlQuery "SELECT 1" ] ; rr:subject ex:s .`,
			"logical table of triples map map:M",
			"expected one table or query",
		},
		"two expressions": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "{a}" ; rml:reference "b" ] .`,
			"subject map",
			"exactly one constant, reference, template or function",
		},
		"no expression": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:class ex:C ] .`,
			"subject map",
			"it has no expression",
		},
		"unbalanced template": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://a/{b" ] .`,
			"subject map",
			"is never closed",
		},
		"no predicate": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subject ex:s ; rr:predicateObjectMap [ rr:object ex:o ] .`,
			"predicate-object map of triples map map:M",
			"it has no predicate",
		},
		"no object": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ] .`,
			"predicate-object map of triples map map:M",
			"it has no object",
		},
		"literal predicate": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate "p" ; rr:object ex:o ] .`,
			"predicate-object map",
			"it generates a Literal as the predicate",
		},
		"datatype and language": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "a" ; ` +
				`rr:datatype xsd:int ; rr:language "en" ] ] .`,
			"object map",
			"both a datatype and a language",
		},
		"bad language": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "a" ; ` +
				`rr:language "english" ] ] .`,
			"object map",
			`"english" is not a valid language tag`,
		},
		"language on an IRI": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "a" ; ` +
				`rr:language "en" ; rr:termType rr:IRI ] ] .`,
			"object map",
			"expected Literal",
		},
		"unknown term type": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "{a}" ; rr:termType rr:Iri ] .`,
			"subject map",
			"expected IRI, BlankNode or Literal",
		},
		"unknown formulation": {
			`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source "a" ; rml:referenceFormulation ql:YAML ] ; ` +
				`rr:subject ex:s .`,
			"logical source of triples map map:M",
			"expected ql:JSONPath",
		},
		"no formulation": {
			`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source "a" ] ; rr:subject ex:s .`,
			"logical source of triples map map:M",
			"no referenceFormulation",
		},
		"unknown source": {
			`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a ex:Thing ] ; rml:referenceFormulation ql:CSV ] ; ` +
				`rr:subject ex:s .`,
			"source of logical source",
			"expected a carml:Stream",
		},
		"incomplete namespace": {
			`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ; carml:declaresNamespace [ ` +
				`carml:namespacePrefix "a" ] ] ; rml:referenceFormulation ql:XPath ] ; rr:subject ex:s .`,
			"namespace",
			"expected a namespacePrefix and a namespaceName",
		},
		"unknown parent": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap map:Other ] ] .`,
			"referencing object map",
			"map:Other is not in the mapping",
		},
		"parent without a join": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap ` +
				`map:Other ] ] . map:Other a rr:TriplesMap ; rml:logicalSource [ rml:source "x.csv" ; ` +
				`rml:referenceFormulation ql:CSV ] ; rr:subject ex:s .`,
			"referencing object map",
			"expected a joinCondition or the same logical source",
		},
		"join without a parent": {
			`map:M a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap map:M ; ` +
				`rr:joinCondition [ rr:child "a" ] ] ] .`,
			"join condition",
			"exactly one parent or parentMap",
		},
		"constant blank node": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subject [] .`,
			"triples map map:M",
			"blank node: expected an IRI",
		},
		"reference without text": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rml:reference ex:a ] .`,
			"subject map",
			"expected text in quotes",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := rml.Load([]byte(prefixes+c.mapping), nil)
			var mistake *rml.MappingError
			require.ErrorAs(t, err, &mistake)
			require.Contains(t, mistake.Node, c.node)
			require.Contains(t, mistake.Reason, c.reason)
			if c.node != "" {
				require.Equal(t, strings.Count(prefixes, "\n")+1, mistake.Line)
			}
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestCompile_refusesInvalidExpressions(t *testing.T) {
	for name, c := range map[string]struct{ mapping, reason string }{
		"iterator": {
			`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ` +
				`ql:JSONPath ; rml:iterator "$.a[*]]" ] ; rr:subject ex:s .`,
			"its iterator is not valid",
		},
		"reference": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rml:reference "$.a[" ] .`,
			`its reference "$.a[" is not valid`,
		},
		"template": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://a/{$.a[}" ] .`,
			`its reference "$.a[" is not valid`,
		},
		"not an IRI": {
			`map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://a b/{c}" ] .`,
			"is not part of an IRI",
		},
		"XPath": {
			`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ` +
				`ql:XPath ; rml:iterator "/a[" ] ; rr:subject ex:s .`,
			"its iterator is not valid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mapping, err := rml.Load([]byte(prefixes+c.mapping), nil)
			require.NoError(t, err)
			_, err = rml.Compile(mapping, nil)
			var mistake *rml.MappingError
			require.ErrorAs(t, err, &mistake)
			require.Contains(t, mistake.Reason, c.reason)
		})
	}
}

func TestMapping_Sources_namesEachSourceOnce(t *testing.T) {
	mapping, err := rml.Load([]byte(prefixes+`
map:A a rr:TriplesMap ; `+jsonStream+` rr:subject ex:s .
map:B a rr:TriplesMap ; `+jsonStream+` rr:subject ex:s .
map:C a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ; carml:streamName "b" ] ;
  rml:referenceFormulation ql:XPath ] ; rr:subject ex:s .
map:D a rr:TriplesMap ; rml:logicalSource [ rml:source "d.csv" ; rml:referenceFormulation ql:CSV ] ; rr:subject ex:s .
`), nil)
	require.NoError(t, err)
	require.Equal(t, []rml.Source{
		{Kind: rml.SourceStream, Formulation: rml.JSONPath},
		{Kind: rml.SourceStream, Name: "b", Formulation: rml.XPath},
		{Kind: rml.SourceFile, Name: "d.csv", Formulation: rml.CSV},
	}, mapping.Sources())
}

func TestLoad_boundsTheSizeOfTheMapping(t *testing.T) {
	_, err := rml.Load([]byte(strings.Repeat("<a> <b> <c> .\n", 1000)), &rml.LoadOptions{MaxBytes: 1000})
	require.Error(t, err)
	var mistake *rml.MappingError
	require.True(t, errors.As(err, &mistake))
}

// FuzzLoad: whatever the mapping is, loading and compiling ends, and says what
// is wrong in one line.
func FuzzLoad(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s.mapping))
	}
	f.Add([]byte(prefixes + `map:M a rr:TriplesMap ; ` + jsonStream +
		` rr:subjectMap [ rr:template "{a}" ; rr:class ex:C ; rr:graph ex:g ] ; rr:predicateObjectMap [ rr:predicate ` +
		`ex:p ; rr:objectMap [ rr:parentTriplesMap map:M ; rr:joinCondition [ rr:child "a" ; rr:parent "b" ] ] ] .`))
	f.Fuzz(func(t *testing.T, src []byte) {
		mapping, err := rml.Load(src, &rml.LoadOptions{MaxBytes: 1 << 16})
		if err == nil {
			_, err = rml.Compile(mapping, nil)
		}
		var mistake *rml.MappingError
		if err != nil && !errors.As(err, &mistake) {
			t.Fatalf("%T is not a *MappingError: %v", err, err)
		}
	})
}

// A mapping of a few kilobytes that would take longer than anyone waits, were
// it followed to all its ends.
func TestLoad_endsQuicklyForMappingsThatMultiply(t *testing.T) {
	const head = prefixes + "@prefix new: <http://w3id.org/rml/> .\n"
	triplesMap := func(view string) string {
		return "map:M a rr:TriplesMap ; rml:logicalSource " + view +
			` ; rr:subjectMap [ rr:template "http://a/{a}" ] .` + "\n"
	}
	const source = `[ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ]`

	t.Run("fields inside of fields", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(head + triplesMap("map:V") + "map:V a new:LogicalView ; new:viewOn " + source +
			" ; new:field map:a0, map:b0 .\n")
		for i := range 41 {
			for _, name := range []string{"a", "b"} {
				fmt.Fprintf(&b, "map:%s%d new:fieldName %q ; new:reference \"$.x\" ; new:field map:a%d, map:b%d .\n", name, i,
					name, i+1, i+1)
			}
		}
		b.WriteString(`map:a41 new:fieldName "a" ; new:reference "$.x" . map:b41 new:fieldName "b" ; new:reference "$.x" .`)
		_, err := rml.Load([]byte(b.String()), nil)
		require.ErrorContains(t, err, "more than 10000")
	})
	t.Run("views of views", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(head + triplesMap("map:V0"))
		for i := range 50 {
			fmt.Fprintf(&b, `map:V%d a new:LogicalView ; new:viewOn map:V%d ; new:field [ new:fieldName "a" ; new:reference "a" ] ;
  new:leftJoin [ new:parentLogicalView map:V%d ; new:joinCondition [ new:parent "a" ; new:child "a" ] ;
  new:field [ new:fieldName "b" ; new:reference "a" ] ] .
`, i, i+1, i+1)
		}
		b.WriteString("map:V50 a new:LogicalView ; new:viewOn " + source +
			` ; new:field [ new:fieldName "a" ; new:reference "$.a" ] .`)
		m, err := rml.Load([]byte(b.String()), nil)
		require.NoError(t, err)
		require.Len(t, m.Sources(), 1)
	})
	t.Run("values of a property", func(t *testing.T) {
		objects := make([]string, 100_000)
		for i := range objects {
			objects[i] = fmt.Sprintf(":%x", i)
		}
		_, err := rml.Load([]byte("@prefix : <http://e/> . "+head+"map:M a rr:TriplesMap ; "+jsonStream+
			` rr:subjectMap [ rr:template "{a}" ; rr:class `+strings.Join(objects, ",")+` ] .`), nil)
		require.NoError(t, err)
	})
	t.Run("prefixes", func(t *testing.T) {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, "@prefix p%d: <http://e/> .\n", i)
		}
		_, err := rml.Load([]byte(b.String()+head+triplesMap(source)), nil)
		require.ErrorContains(t, err, "it declares 2008 prefixes: expected at most 1000")
	})
}
