package rml_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

func TestMapper_Append_writesStatementsToGraphs(t *testing.T) {
	const s, p = "<http://a/1>", "<http://example.com/ns#p>"
	cases := map[string]struct{ ofSubject, ofObject, message, want string }{
		"named twice": {
			`rr:graph ex:g`,
			`rr:graph ex:g`,
			`{"id":1}`,
			s + " " + p + ` "o" <http://example.com/ns#g> .` + "\n",
		},
		"both defaults": {
			`rr:graph rr:defaultGraph`,
			`rr:graph rr:defaultGraph`,
			`{"id":1}`,
			s + " " + p + ` "o" .` + "\n",
		},
		"of a value": {
			`rr:graphMap [ rr:template "http://g/{g}" ]`,
			``,
			`{"id":1,"g":2}`,
			s + " " + p + ` "o" <http://g/2> .` + "\n",
		},
		"of no value":            {`rr:graphMap [ rr:template "http://g/{g}" ]`, ``, `{"id":1}`, ""},
		"of no value, elsewhere": {``, `rr:graphMap [ rr:template "http://g/{g}" ]`, `{"id":1}`, ""},
		"one of no value": {
			`rr:graphMap [ rr:template "http://g/{g}" ]`,
			`rr:graph ex:g`,
			`{"id":1}`,
			s + " " + p + ` "o" <http://example.com/ns#g> .` + "\n",
		},
		"a value given twice": {
			`rr:graphMap [ rr:template "http://g/{g}" ]`,
			``,
			`{"id":1,"g":[2,2]}`,
			s + " " + p + ` "o" <http://g/2> .` + "\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := jsonStream + ` rr:subjectMap [ rr:template "http://a/{id}" ; ` + c.ofSubject +
				` ] ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:object "o" ; ` + c.ofObject + ` ] .`
			got, err := mapOne(t, body, c.message, &rml.Options{Format: rdf.NQuads})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// N-Triples has one graph only: what is in two of them is there once.
func TestMapper_Append_dropsGraphsInFormatsWithoutThem(t *testing.T) {
	got, err := mapOne(t,
		jsonStream+` rr:subjectMap [ rr:template "http://a/{id}" ; rr:graph ex:g, ex:h ] ; rr:predicateObjectMap [ `+
			`rr:predicate ex:p ; rr:object "o" ] .`, `{"id":1}`, nil)
	require.NoError(t, err)
	require.Equal(t, "<http://a/1> <http://example.com/ns#p> \"o\" .\n", got)
}

// A source that two logical sources parse in different ways is one message.
func TestMapper_Append_readsAMessageWithSeveralNamespaceSets(t *testing.T) {
	one := func(name, ns string) string {
		return "map:" + name +
			` a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ; carml:declaresNamespace [ ` +
			`carml:namespacePrefix "n" ; carml:namespaceName "` + ns +
			`" ] ] ; rml:referenceFormulation ql:XPath ; rml:iterator "/r/n:e" ] ; rr:subjectMap [ rr:template ` +
			`"http://a/{@id}" ; rr:class ex:` + name + " ] .\n"
	}
	const message = `<r xmlns:a="http://x/a" xmlns:b="http://x/b"><a:e id="1"/><b:e id="2"/></r>`
	m := newMapper(t, prefixes+one("A", "http://x/a")+one("B", "http://x/b"), nil)
	out, err := m.Append(nil, []byte(message))
	require.NoError(t, err)
	var run strings.Builder
	require.NoError(t, m.Run(t.Context(), &run, rml.LocalFiles("", strings.NewReader(message))))
	require.Equal(t, string(out), run.String())
	require.Equal(t, "<http://a/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/ns#A> .\n"+
		"<http://a/2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/ns#B> .\n", string(out))
}
