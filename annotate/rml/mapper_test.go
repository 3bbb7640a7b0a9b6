package rml_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// mapOne maps one message with a single triples map whose body is given.
func mapOne(t *testing.T, body, message string, opts *rml.Options) (string, error) {
	t.Helper()
	m := newMapper(t, prefixes+"map:M a rr:TriplesMap ; "+body, opts)
	out, err := m.Append([]byte("kept\n"), []byte(message))
	require.True(t, strings.HasPrefix(string(out), "kept\n"))
	return strings.TrimPrefix(string(out), "kept\n"), err
}

func TestMapper_Append_mapsOneMessage(t *testing.T) {
	const s = `rr:subjectMap [ rr:template "http://a/{id}" ] ; `
	const object = jsonStream + s + `rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ %s ] ] .`
	const line = "<http://a/1> <http://example.com/ns#p> %s .\n"
	cases := map[string]struct{ body, message, want string }{
		"a literal": {
			fmt.Sprintf(object, `rml:reference "v"`),
			`{"id":1,"v":"x"}`,
			fmt.Sprintf(line, `"x"`),
		},
		"numbers as text": {
			fmt.Sprintf(object, `rml:reference "v"`),
			`{"id":1,"v":1.50}`,
			fmt.Sprintf(line, `"1.50"`),
		},
		"escapes": {
			fmt.Sprintf(object, `rml:reference "v"`),
			`{"id":1,"v":"a\"\\\n\u00e9\ud83d\ude00"}`,
			fmt.Sprintf(line, `"a\"\\\né😀"`),
		},
		"nothing for null":           {fmt.Sprintf(object, `rml:reference "v"`), `{"id":1,"v":null}`, ""},
		"nothing for what is absent": {fmt.Sprintf(object, `rml:reference "v"`), `{"id":1}`, ""},
		"nothing without a subject":  {fmt.Sprintf(object, `rml:reference "v"`), `{"v":"x"}`, ""},
		"each value of an array": {
			fmt.Sprintf(object, `rml:reference "v"`),
			`{"id":1,"v":["x",null,"y"]}`,
			fmt.Sprintf(line+line, `"x"`, `"y"`),
		},
		"each value of a wildcard": {
			fmt.Sprintf(object, `rml:reference "v[*]"`),
			`{"id":1,"v":["x","y"]}`,
			fmt.Sprintf(line+line, `"x"`, `"y"`),
		},
		"nested keys": {
			fmt.Sprintf(object, `rml:reference "v.w"`),
			`{"id":1,"v":{"w":true}}`,
			fmt.Sprintf(line, `"true"`),
		},
		"a datatype": {
			fmt.Sprintf(object, `rml:reference "v" ; rr:datatype xsd:int`),
			`{"id":1,"v":7}`,
			fmt.Sprintf(line, `"7"^^<http://www.w3.org/2001/XMLSchema#int>`),
		},
		"a language": {
			fmt.Sprintf(object, `rml:reference "v" ; rr:language "pl"`),
			`{"id":1,"v":"x"}`,
			fmt.Sprintf(line, `"x"@pl`),
		},
		"a language map": {
			fmt.Sprintf(object, `rml:reference "v" ; rml:languageMap [ rml:reference "l" ]`),
			`{"id":1,"v":"x","l":"pl"}`,
			fmt.Sprintf(line, `"x"@pl`),
		},
		"an IRI as it is": {
			fmt.Sprintf(object, `rml:reference "v" ; rr:termType rr:IRI`),
			`{"id":1,"v":"http://b/c"}`,
			fmt.Sprintf(line, `<http://b/c>`),
		},
		"an IRI behind the base": {
			fmt.Sprintf(object, `rml:reference "v" ; rr:termType rr:IRI`),
			`{"id":1,"v":"c/d"}`,
			fmt.Sprintf(line, `<http://example.com/base/c/d>`),
		},
		"no IRI with a space": {
			fmt.Sprintf(object, `rml:reference "v" ; rr:termType rr:IRI`),
			`{"id":1,"v":"c d"}`,
			"",
		},
		"a template, encoded": {
			fmt.Sprintf(object, `rr:template "http://b/{v}"`),
			`{"id":1,"v":"a b/c%é~"}`,
			fmt.Sprintf(line, `<http://b/a%20b%2Fc%25é~>`),
		},
		"a template, escaped": {
			fmt.Sprintf(object, `rr:template "\\{{v}\\}\"" ; rr:termType rr:Literal`),
			`{"id":1,"v":"\""}`,
			fmt.Sprintf(line, `"{\"}\""`),
		},
		"every combination": {
			fmt.Sprintf(object, `rr:template "{v}-{w}" ; rr:termType rr:Literal`),
			`{"id":1,"v":["a","b"],"w":["c","d"]}`,
			fmt.Sprintf(line+line+line+line, `"a-c"`, `"a-d"`, `"b-c"`, `"b-d"`),
		},
		"a relative template": {
			fmt.Sprintf(object, `rr:template "{v}"`),
			`{"id":1,"v":"x"}`,
			fmt.Sprintf(line, `<http://example.com/base/x>`),
		},
		"a constant": {fmt.Sprintf(object, `rr:constant "c"`), `{"id":1}`, fmt.Sprintf(line, `"c"`)},
		"deprecated CARML names": {
			fmt.Sprintf(object, `a carml:MultiObjectMap ; carml:multiReference "v"`),
			`{"id":1,"v":["x","y"]}`,
			fmt.Sprintf(line+line, `"x"`, `"y"`),
		},
		"a class and a constant object": {
			jsonStream + `rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ] ; rr:predicateObjectMap [ ` +
				`rr:predicate ex:p ; rr:object ex:o ] .`,
			`{"id":1}`,
			"<http://a/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/ns#C> .\n<http://a/1> " +
				"<http://example.com/ns#p> <http://example.com/ns#o> .\n",
		},
		"the subject of the same record": {
			jsonStream + s + `rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap map:P ] ] . ` +
				`map:P a rr:TriplesMap ; ` + jsonStream + `rr:subjectMap [ rr:template "http://b/{v}" ] .`,
			`{"id":1,"v":"x"}`,
			fmt.Sprintf(line, `<http://b/x>`),
		},
		"records of an iterator": {
			strings.Replace(jsonStream, `"$"`, `"$.r[*]"`, 1) + s +
				`rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`,
			`{"r":[{"id":1,"v":"x"},{"id":1,"v":"y"}]}`,
			fmt.Sprintf(line+line, `"x"`, `"y"`),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mapOne(t, c.body, c.message, nil)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestMapper_Append_joinsWithinTheMessage(t *testing.T) {
	m := newMapper(t, prefixes+`
map:Child a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
  rml:referenceFormulation ql:JSONPath ; rml:iterator "$.students[*]" ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:does ; rr:objectMap [ rr:parentTriplesMap map:Parent ;
  rr:joinCondition [ rr:child "sport" ; rr:parent "id" ] ] ] .
map:Parent a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
  rml:referenceFormulation ql:JSONPath ; rml:iterator "$.sports[*]" ] ;
  rr:subjectMap [ rr:template "http://b/{name}" ] .
`, nil)
	for range 2 { // the index of one message is not that of the next
		out, err := m.Append(nil,
			[]byte(`{"students":[{"id":1,"sport":[10,30]},{"id":2,"sport":20},{"id":3}],"sports":[{"id":10,`+
				`"name":"x"},{"id":20,"name":"y"},{"id":20,"name":"z"},{"id":30,"name":"x"}]}`))
		require.NoError(t, err)
		require.Equal(t, `<http://a/1> <http://example.com/ns#does> <http://b/x> .
<http://a/2> <http://example.com/ns#does> <http://b/y> .
<http://a/2> <http://example.com/ns#does> <http://b/z> .
`, string(out))
		out, err = m.Append(nil, []byte(`{"students":[{"id":1,"sport":10}],"sports":[]}`))
		require.NoError(t, err)
		require.Empty(t, out)
	}
}

// A message that cannot be mapped adds nothing, and the error says where.
func TestMapper_Append_refusesBadMessages(t *testing.T) {
	const body = jsonStream +
		`rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ] ; rr:predicateObjectMap [ rr:predicate ex:p ; ` +
		`rr:objectMap [ rml:reference "v" ; rr:termType rr:IRI ] ] ; rr:predicateObjectMap [ rr:predicate ex:q ; ` +
		`rr:objectMap [ rml:reference "n" ; rr:datatype xsd:integer ] ] .`
	strict := &rml.Options{Strict: true}
	for name, c := range map[string]struct{ message, want string }{
		"not JSON":  {"hello", "JSON line 1 column 1"},
		"cut short": {"{\"id\":1,\n\"v\":", "JSON line 2 column 5"},
		"empty":     {"", "JSON line 1 column 1"},
		"an object": {`{"id":1,"v":{"x":1}}`, "at /v: the reference selects an object"},
		"an invalid IRI": {
			`{"id":1,"v":"http://a b"}`,
			`at /v: it gives <http://a b>, which is not a valid IRI: ' ' is not allowed at byte 8`,
		},
		"deep nesting":      {strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "JSON line 1"},
		"more than 16 MiB":  {`{"id":"` + strings.Repeat("x", 20<<20) + `"}`, "the limit is 16777216"},
		"invalid UTF-8":     {"{\"id\":\"\xff\"}", "JSON line 1 column 8"},
		"two JSON messages": {`{"id":1} {"id":2}`, "JSON line 1 column 10"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := mapOne(t, body, c.message, strict)
			require.Empty(t, got)
			var failure *rml.MessageError
			require.ErrorAs(t, err, &failure)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestMessageError_namesTheMappingNode(t *testing.T) {
	_, err := mapOne(t, jsonStream+
		`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`,
		`{"v":[[1]]}`, nil)
	var failure *rml.MessageError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "object map of predicate-object map of triples map map:M (mapping line 8)", failure.Node)
	require.Equal(t, "/v/0", failure.Place)
}

func TestLimits_boundStatements(t *testing.T) {
	const body = jsonStream +
		`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`
	opts := &rml.Options{Limits: rml.Limits{MaxStatements: 2}}
	_, err := mapOne(t, body, `{"v":[1,2]}`, opts)
	require.NoError(t, err)
	_, err = mapOne(t, body, `{"v":[1,2,3]}`, opts)
	require.ErrorIs(t, err, rml.ErrLimit)
}

func TestLimits_boundRecords(t *testing.T) {
	const body = `rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; ` +
		`rml:iterator "$[*]" ] ; rr:subjectMap [ rr:constant ex:s ; rr:class ex:C ] .`
	opts := &rml.Options{Limits: rml.Limits{MaxRecords: 2}}
	_, err := mapOne(t, body, `[1,2]`, opts)
	require.NoError(t, err)
	_, err = mapOne(t, body, `[1,2,3]`, opts)
	require.ErrorIs(t, err, rml.ErrLimit)
	require.ErrorContains(t, err, "selects 3 records, the limit is 2")
}

func TestLimits_boundTime(t *testing.T) {
	const body = `rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; ` +
		`rml:iterator "$[*]" ] ; rr:subjectMap [ rr:template "http://a/{$.id}" ; rr:class ex:C ] .`
	message := "[" + strings.Repeat(`{"id":1},`, 100_000) + `{"id":1}]`
	_, err := mapOne(t, body, message, &rml.Options{Limits: rml.Limits{MaxTime: time.Nanosecond}})
	require.ErrorIs(t, err, rml.ErrLimit)
	require.ErrorContains(t, err, "more than 1ns")
	_, err = mapOne(t, body, message, nil)
	require.NoError(t, err)
}

func TestMapper_Append_requiresASingleSource(t *testing.T) {
	m := newMapper(t, prefixes+`map:M a rr:TriplesMap ; `+jsonStream+
		` rr:subject ex:s . map:N a rr:TriplesMap ; rml:logicalSource [ rml:source "x.csv" ; rml:referenceFormulation `+
		`ql:CSV ] ; rr:subject ex:s .`, nil)
	_, err := m.Append(nil, []byte(`{}`))
	require.ErrorContains(t, err, "the mapping reads 2 sources")
}

// Blank nodes of one message are the same for the same value, those of
// different messages differ, and the same message gives the same labels.
func TestMapper_Append_labelsBlankNodesByMessage(t *testing.T) {
	const body = jsonStream +
		`rr:subjectMap [ rml:reference "id" ; rr:termType rr:BlankNode ] ; rr:predicateObjectMap [ rr:predicate ex:p ` +
		`; rr:objectMap [ rml:reference "v" ; rr:termType rr:BlankNode ] ] .`
	m := newMapper(t, prefixes+"map:M a rr:TriplesMap ; "+body, nil)
	quads := func(message string) rdf.Quad {
		q, err := m.Quads([]byte(message))
		require.NoError(t, err)
		require.Len(t, q, 1)
		return q[0]
	}
	same := quads(`{"id":"é/x","v":"é/x"}`)
	other := quads(`{"id":"é/x","v":"y"}`)
	again := quads(`{"id":"é/x","v":"é/x"}`)
	require.Equal(t, same.Subject, same.Object)
	require.NotEqual(t, same.Subject, other.Subject)
	require.Equal(t, same, again)
	require.True(t, rdf.ValidLabel([]byte(same.Subject.Value)))
}

func TestMapper_Append_givesNaturalDatatypesUnderTheNewVocabulary(t *testing.T) {
	const line = "<http://example.com/ns#s> <http://example.com/ns#p> %s .\n"
	const before = jsonStream +
		`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`
	const since = jsonStream +
		`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ <http://w3id.org/rml/reference> ` +
		`"v" ] ] .`
	typed := fmt.Sprintf(line, `"30"^^<http://www.w3.org/2001/XMLSchema#integer>`)
	plain := fmt.Sprintf(line, `"30"`)
	for body, want := range map[string]string{before: plain, since: typed} {
		got, err := mapOne(t, body, `{"v":30}`, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestMapper_Append_labelsBlankNodesByGraph(t *testing.T) {
	const body = jsonStream + `rr:subjectMap [ rml:reference "id" ; rr:termType rr:BlankNode ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:object ex:o ; rr:graph ex:g, ex:h ] ; rr:predicateObjectMap [
  rr:predicate ex:q ; rr:object ex:o ; rr:graph ex:g ] .`
	quads, err := newMapper(t, prefixes+"map:M a rr:TriplesMap ; "+body, nil).Quads([]byte(`{"id":1}`))
	require.NoError(t, err)
	require.Len(t, quads, 3)
	require.NotEqual(t, quads[0].Subject, quads[1].Subject, "two graphs share no blank node")
	require.Equal(t, quads[0].Subject, quads[2].Subject, "one graph has one")
}

func TestMapper_Append_makesALiteralForEachLanguage(t *testing.T) {
	got, err := mapOne(t,
		jsonStream+`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ; `+
			`rml:languageMap [ rml:reference "l" ] ] ] .`, `{"v":["x","y"],"l":["en","no language","de"]}`, nil)
	require.NoError(t, err)
	const line = "<http://example.com/ns#s> <http://example.com/ns#p> %s .\n"
	require.Equal(t, fmt.Sprintf(line+line+line+line, `"x"@en`, `"x"@de`, `"y"@en`, `"y"@de`), got)
}

// RDF/XML cannot say everything; what it cannot say is an error, not a
// statement less.
func TestMapper_Append_refusesStatementsThatTheFormatCannotExpress(t *testing.T) {
	const body = jsonStream +
		`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .`
	opts := &rml.Options{Format: rdf.RDFXML}
	got, err := mapOne(t, body, `{"v":"x"}`, opts)
	require.NoError(t, err)
	require.Contains(t, got, ">x</")
	got, err = mapOne(t, body, `{"v":"a\u0001b"}`, opts)
	var failure *rml.MessageError
	require.ErrorAs(t, err, &failure)
	require.Empty(t, got)
}

func TestMapper_Append_startsACleanDocumentAfterAnError(t *testing.T) {
	const body = jsonStream +
		`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] ; ` +
		`rr:predicateObjectMap [ rr:predicate ex:q ; rr:objectMap [ rml:reference "w" ] ] .`
	m := newMapper(t, prefixes+"map:M a rr:TriplesMap ; "+body, &rml.Options{Format: rdf.Turtle})
	want, err := m.Append(nil, []byte(`{"v":1,"w":2}`))
	require.NoError(t, err)
	_, err = m.Append(nil, []byte(`{"v":1,"w":{}}`))
	require.Error(t, err)
	got, err := m.Append(nil, []byte(`{"v":1,"w":2}`))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// FuzzAppend: whatever the message is, mapping ends, and what comes out is
// valid N-Quads.
func FuzzAppend(f *testing.F) {
	mappings := make(map[string]string)
	for name, s := range samples {
		mappings[name] = s.mapping
		f.Add(name, []byte(s.message))
	}
	f.Fuzz(func(t *testing.T, name string, message []byte) {
		mapping, ok := mappings[name]
		if !ok {
			return
		}
		m := newMapper(t, mapping, &rml.Options{Format: rdf.NQuads, Limits: rml.Limits{MaxBytes: 1 << 16}})
		out, err := m.Append(nil, message)
		if err != nil {
			require.Empty(t, out)
			return
		}
		readNQuads(t, out)
	})
}

// A graph is a set: a message that says something twice gives it once.
func TestMapper_Append_dropsDuplicateStatements(t *testing.T) {
	const line = "<http://example.com/ns#s> <http://example.com/ns#p> %s .\n"
	const object = `rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ]`
	for name, c := range map[string]struct{ body, message, want string }{
		"values of one reference": {
			jsonStream + `rr:subject ex:s ; ` + object + ` .`,
			`{"v":["x","y","x"]}`,
			fmt.Sprintf(line+line, `"x"`, `"y"`),
		},
		"records of one map": {
			strings.Replace(jsonStream, `"$"`, `"$[*]"`, 1) + `rr:subject ex:s ; ` + object + ` .`,
			`[{"v":"x"},{"v":"y"},{"v":"x"}]`,
			fmt.Sprintf(line+line, `"x"`, `"y"`),
		},
		"two object maps": {
			jsonStream + `rr:subject ex:s ; ` + object +
				` ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "w" ] ] .`,
			`{"v":"x","w":"x"}`,
			fmt.Sprintf(line, `"x"`),
		},
		"two triples maps": {
			jsonStream + `rr:subject ex:s ; ` + object + ` . map:N a rr:TriplesMap ; ` + jsonStream +
				` rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:object "x" ] .`,
			`{"v":"x"}`,
			fmt.Sprintf(line, `"x"`),
		},
		"one constant twice": {
			jsonStream + `rr:subjectMap [ rr:constant ex:s ; rr:class ex:C ] . map:N a rr:TriplesMap ; ` + jsonStream +
				` rr:subjectMap [ rr:constant ex:s ; rr:class ex:C ] .`,
			`{}`,
			"<http://example.com/ns#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/ns#C> .\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, prefixes+"map:M a rr:TriplesMap ; "+c.body, nil)
			for range 3 { // one message does not remember another
				out, err := m.Append(nil, []byte(c.message))
				require.NoError(t, err)
				require.Equal(t, c.want, string(out))
			}
		})
	}
}
