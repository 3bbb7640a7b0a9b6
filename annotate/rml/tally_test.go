package rml_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// modernMap is a mapping in the new vocabulary with one object map, and legacyMap
// one in the legacy vocabulary.
func modernMap(iterator, object string) string {
	return prefixes + fmt.Sprintf(`@prefix new: <http://w3id.org/rml/> .
map:M a new:TriplesMap ; new:logicalSource [ new:source [ a carml:Stream ] ; new:referenceFormulation new:JSONPath ; new:iterator %q ] ;
  new:subjectMap [ new:template "http://a/{$.id}" ] ; new:predicateObjectMap [ new:predicate ex:p ;
  new:objectMap [ %s ] ] .`, iterator, object)
}

func legacyMap(iterator, object string) string {
	return prefixes + "map:M a rr:TriplesMap ; " + strings.Replace(jsonStream, `"$"`, `"`+iterator+`"`, 1) +
		fmt.Sprintf(` rr:subjectMap [ rr:template "http://a/{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; `+
			`rr:objectMap [ %s ] ] .`, object)
}

// Strict or not, the legacy vocabulary gives a literal out as it is, as CARML
// does, and counts it.
func TestMapper_writesAndCountsIllTypedLiteralsInLegacyMappings(t *testing.T) {
	const message = `{"id":1,"v":"2022-05-01","t":"http://www.w3.org/2001/XMLSchema#dateTime"}`
	const want = `<http://a/1> <http://example.com/ns#p> ` +
		`"2022-05-01"^^<http://www.w3.org/2001/XMLSchema#dateTime> .` + "\n"
	for name, object := range map[string]string{
		"a reference":    `rml:reference "v" ; rr:datatype xsd:dateTime`,
		"a template":     `rr:template "{v}" ; rr:termType rr:Literal ; rr:datatype xsd:dateTime`,
		"a datatype map": `rml:reference "v" ; <http://semweb.mmlab.be/ns/rml#datatypeMap> [ rml:reference "t" ]`,
	} {
		for _, strict := range []bool{false, true} {
			t.Run(fmt.Sprint(name, strict), func(t *testing.T) {
				m := newMapper(t, legacyMap("$", object), &rml.Options{Strict: strict})
				for range 2 { // the tally is that of the newest message
					out, err := m.Append(nil, []byte(message))
					require.NoError(t, err)
					require.Equal(t, want, string(out))
					require.Equal(t, rml.Tally{Records: 1, Statements: 1, IllTyped: 1}, m.Tally())
				}
				quads, err := m.Quads([]byte(message))
				require.NoError(t, err)
				require.Len(t, quads, 1)
				require.Equal(t, 1, m.Tally().IllTyped)
			})
		}
	}
}

func TestMapper_refusesIllTypedLiteralsInNewMappings(t *testing.T) {
	m := newMapper(t, modernMap("$", `new:reference "$.v" ; new:datatype xsd:dateTime`), nil)
	_, err := m.Append(nil, []byte(`{"id":1,"v":"2022-05-01"}`))
	require.ErrorContains(t, err, `"2022-05-01" is not in the lexical space of its datatype`)
}

func TestMapper_mapsTheElementsOfAnArrayIteratorInLegacyMappings(t *testing.T) {
	const one, two = `<http://a/1> <http://example.com/ns#p> "x" .` +
		"\n", `<http://a/2> <http://example.com/ns#p> "y" .` + "\n"
	const elements = `[{"id":1,"v":"x"},null,{"id":2,"v":"y"}]`
	for name, c := range map[string]struct{ iterator, message, want string }{
		"the document":            {"$", elements, one + two},
		"a member":                {"$.list", `{"list":` + elements + `}`, one + two},
		"a bare name":             {"list", `{"list":` + elements + `}`, one + two},
		"an element":              {"$[1]", `[0,` + elements + `]`, one + two},
		"not the elements of one": {"$[*]", `[` + elements + `]`, ""},
		"an object":               {"$.o", `{"o":{"id":1,"v":"x"}}`, one},
		"an empty array":          {"$.list", `{"list":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, legacyMap(c.iterator, `rml:reference "v"`), nil)
			out, err := m.Append(nil, []byte(c.message))
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, strings.Count(c.want, "\n"), m.Tally().Statements)
			var run bytes.Buffer
			files := rml.LocalFiles(".", strings.NewReader(c.message))
			require.NoError(t, m.Run(context.Background(), &run, files))
			require.Equal(t, c.want, run.String())
		})
	}
}

// Two triples maps with one iterator, each in its own vocabulary, do not share
// records.
func TestMapper_readsAnArrayIteratorByTheVocabularyOfItsSource(t *testing.T) {
	modern := strings.Replace(modernMap("$.list", `new:reference "$[0].v"`), `"http://a/{$.id}"`,
		`"http://a/{$[0].id}"`, 1)
	m := newMapper(t, strings.Replace(legacyMap("$.list", `rml:reference "v"`), "map:M a", "map:L a", 1)+
		modern[len(prefixes):], nil)
	out, err := m.Append(nil, []byte(`{"list":[{"id":1,"v":"x"},{"id":2,"v":"y"}]}`))
	require.NoError(t, err)
	require.Equal(t, rml.Tally{Records: 3, Statements: 2}, m.Tally()) // a statement of both counts once
	require.Equal(t, 2, strings.Count(string(out), "\n"))
}

func TestMapper_takesAnArrayAsOneRecordInNewMappings(t *testing.T) {
	m := newMapper(t, modernMap("$.list", `new:reference "$.v"`), nil)
	out, err := m.Append(nil, []byte(`{"list":[{"id":1,"v":"x"}]}`))
	require.NoError(t, err)
	require.Empty(t, out)
	require.Equal(t, rml.Tally{Records: 1}, m.Tally())
}

func TestMapper_boundsTheRecordsOfAnArrayIterator(t *testing.T) {
	m := newMapper(t, legacyMap("$", `rml:reference "v"`), &rml.Options{Limits: rml.Limits{MaxRecords: 2}})
	_, err := m.Append(nil, []byte(`[{"id":1},{"id":2},{"id":3}]`))
	require.ErrorIs(t, err, rml.ErrLimit)
}

func TestMapper_Unmatched_namesWhatSelectedNothing(t *testing.T) {
	m := newMapper(t, legacyMap("$.list[*]", `rml:reference "v" ; rr:termType rr:IRI`), nil)
	out, err := m.Append(nil, []byte(`{"items":[]}`))
	require.NoError(t, err)
	require.Empty(t, out)
	require.Equal(t, rml.Tally{}, m.Tally())
	require.Equal(t, []string{`triples map map:M (mapping line 8): its iterator "$.list[*]" selects no record`},
		m.Unmatched())

	require.NoError(t, m.RunLines(context.Background(), &bytes.Buffer{}, strings.NewReader(
		`{"list":[{"id":1,"v":"http://b/c"}]}`+"\n"+`{"list":[{"id":2,"v":"http://b c"},{"id":3,"v":"http://b/d"}]}`+
			"\n{}\n")))
	require.Equal(t, rml.Tally{Records: 3, Statements: 2, LeftOut: 1}, m.Tally())
	require.Empty(t, m.Unmatched())
}

func TestMapper_Unmatched_isTheSameForEveryFormat(t *testing.T) {
	for name, c := range map[string]struct{ formulation, iterator, message, want string }{
		"CSV": {"CSV", "", "id,v\n", "its logical source has no record"},
		"XML": {"XPath", `; rml:iterator "/list/i"`, "<list/>", `its iterator "/list/i" selects no record`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, prefixes+
				`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:`+
				c.formulation+c.iterator+` ] ; rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ] .`, nil)
			out, err := m.Append(nil, []byte(c.message))
			require.NoError(t, err)
			require.Empty(t, out)
			require.Len(t, m.Unmatched(), 1)
			require.Contains(t, m.Unmatched()[0], c.want)
		})
	}
}
