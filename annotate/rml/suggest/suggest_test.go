package suggest_test

import (
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
)

// mapped returns the statements that the suggestion for a sample generates, one per line, with short
// IRIs.
func mapped(t *testing.T, sample string) string {
	s, err := suggest.Mapping([]byte(sample), nil)
	require.NoError(t, err)
	m, err := rml.Load([]byte(s.Mapping), nil)
	require.NoError(t, err, s.Mapping)
	plan, err := rml.Compile(m, nil)
	require.NoError(t, err, s.Mapping)
	made, err := plan.NewMapper().Append(nil, []byte(sample))
	require.NoError(t, err, s.Mapping)
	var text strings.Builder
	for line := range strings.Lines(string(made)) {
		text.WriteString(strings.NewReplacer("http://example.org/vocabulary#", "ex:", "http://example.org/", "",
			"http://www.w3.org/2001/XMLSchema#", "xsd:", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "a").Replace(line))
	}
	return text.String()
}

func TestMapping_ofJSON(t *testing.T) {
	got := mapped(t, `{"deviceId":"d1","time":"2026-11-23T08:00:00Z","temp":21.5,"count":3,"ok":true,"page":"http://example.com/d1",
		"where":{"lat":1.5,"long name":"x"},"tags":["a","b"],"none":null,"code":"0042"}`)
	require.Equal(t, `<message/d1/2026-11-23T08%3A00%3A00Z> <a> <ex:Message> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:deviceId> "d1" .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:time> "2026-11-23T08:00:00Z"^^<xsd:dateTime> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:temp> "21.5"^^<xsd:decimal> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:count> "3"^^<xsd:integer> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:ok> "true"^^<xsd:boolean> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:page> <http://example.com/d1> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:whereLat> "1.5"^^<xsd:decimal> .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:whereLongName> "x" .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:tags> "a" .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:tags> "b" .
<message/d1/2026-11-23T08%3A00%3A00Z> <ex:code> "0042" .
`, got)
}

func TestMapping_ofJSON_findsTheRecords(t *testing.T) {
	got := mapped(t, `{"station":"EWR","readings":[{"id":1,"v":2},{"id":2,"v":2.5,"parts":[{"name":"p"}]}]}`)
	require.Contains(t, got, `<message/EWR> <a> <ex:Message>`)
	require.Contains(t, got, `<reading/1> <ex:v> "2"^^<xsd:decimal>`, "a kind that both values have")
	require.Contains(t, got, `<reading/2> <ex:v> "2.5"^^<xsd:decimal>`)
	require.Contains(t, got, `<part/p> <ex:name> "p"`)
	require.Contains(t, mapped(t, `[{"a b":1,"{x}":"y"}]`), `<message/1> <ex:x> "y"`)
}

func TestMapping_ofCSV(t *testing.T) {
	require.Equal(t, `<row/a/2026-11-23> <a> <ex:Row> .
<row/a/2026-11-23> <ex:station> "a" .
<row/a/2026-11-23> <ex:day> "2026-11-23"^^<xsd:date> .
<row/a/2026-11-23> <ex:tempC> "1.5"^^<xsd:decimal> .
<row/b/2026-11-24> <a> <ex:Row> .
<row/b/2026-11-24> <ex:station> "b" .
<row/b/2026-11-24> <ex:day> "2026-11-24"^^<xsd:date> .
<row/b/2026-11-24> <ex:tempC> "2"^^<xsd:decimal> .
`, mapped(t, "station,day,temp (C),empty\na,2026-11-23,1.5,\nb,2026-11-24,2,\n"))
}

func TestMapping_ofXML(t *testing.T) {
	got := mapped(t, `<?xml version="1.0"?><list xmlns="http://x/" xmlns:y="http://y/"><title>T</title>
		<item id="1"><y:size>3</y:size><name>one</name></item><item id="2"><name>two</name></item></list>`)
	require.Contains(t, got, `<list/T> <ex:title> "T"`)
	require.Contains(t, got, `<item/1> <ex:id> "1"^^<xsd:integer>`)
	require.Contains(t, got, `<item/1> <ex:size> "3"^^<xsd:integer>`)
	require.Contains(t, got, `<item/2> <ex:name> "two"`)
	require.Contains(t, mapped(t, "<v>5</v>"), `<v/5> <ex:value> "5"^^<xsd:integer>`)
}

func TestMapping_saysWhereASampleCannotBeRead(t *testing.T) {
	for sample, want := range map[string]string{
		`{"a":1`:          "suggest: read the sample as JSON: byte 6: unexpected EOF",
		`{"a":1} {"a":2}`: "suggest: read the sample as JSON: byte 9: there is more after the value; a sample is one message",
		"<a><b></a>":      "suggest: read the sample as XML: XML syntax error on line 1: element <b> closed by </a>",
		"a,b\n1\n":        "suggest: read the sample as CSV: record on line 2: wrong number of fields",
		"{}":              "suggest: the sample has no record with a value",
		"":                "suggest: read the sample as CSV: suggest: the sample has no record with a value",
		strings.Repeat("[", 100) + strings.Repeat("]", 100): "suggest: read the sample as JSON: byte 18: it is nested more than 16 deep",
	} {
		_, err := suggest.Mapping([]byte(sample), nil)
		require.EqualError(t, err, want)
	}
	_, err := suggest.Mapping([]byte("{}"), &suggest.Options{Base: "no iri"})
	require.ErrorContains(t, err, "Options.Base")
	_, err = suggest.Mapping(make([]byte, suggest.MaxSample+1), nil)
	require.ErrorContains(t, err, "1048577 bytes")
}

// FuzzMapping checks that every suggestion is a mapping that the engine takes, and that it
// maps the sample.
func FuzzMapping(f *testing.F) {
	for _, sample := range []string{
		`{"a":{"b c":[1,"x",{"d":true}]},"x'y\\z":"{q}"}`, `[{"id":"ü"},{"id":null}]`, "a,b\n1,\"x\"\"y\"\n",
		`<a b="1"><c/><c d="2"/></a>`, `<p:a xmlns:p="urn:x"><p:b>1e5</p:b></p:a>`, `{"":1,"$":2,"*":3,"a.b":4}`,
	} {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, sample []byte) {
		if !utf8.Valid(sample) || len(sample) > 4096 {
			return
		}
		s, err := suggest.Mapping(sample, nil)
		if err != nil {
			return
		}
		m, err := rml.Load([]byte(s.Mapping), nil)
		if err != nil {
			t.Fatalf("%q is no mapping: %v\n%s", sample, err, s.Mapping)
		}
		plan, err := rml.Compile(m, nil)
		if err != nil {
			t.Fatalf("the mapping for %q cannot be compiled: %v\n%s", sample, err, s.Mapping)
		}
		if s.Format == suggest.JSON && json.Valid(sample) {
			if _, err := plan.NewMapper().Quads(sample); err != nil {
				t.Fatalf("the mapping for %q fails: %v\n%s", sample, err, s.Mapping)
			}
		}
	})
}

func ExampleMapping() {
	s, err := suggest.Mapping([]byte(`{"id":"d1","temp":21.5}`), &suggest.Options{Namespace: "https://example.com/terms#"})
	if err != nil {
		log.Fatal(err)
	}
	_, properties, _ := strings.Cut(s.Mapping, "rr:class ex:Message\n    ] ;")
	fmt.Printf("%s%s", s.Format, properties)
	// Output:
	// JSON
	//     rr:predicateObjectMap [
	//         rr:predicate ex:id ;
	//         rr:objectMap [ rml:reference "id" ]
	//     ] ;
	//     rr:predicateObjectMap [
	//         rr:predicate ex:temp ;
	//         rr:objectMap [ rml:reference "temp" ; rr:datatype xsd:decimal ]
	//     ] .
}
