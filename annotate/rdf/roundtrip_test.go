package rdf_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/internal/conformance"
)

// writers are the ways of writing that every graph must survive.
var writers = map[string]struct {
	format rdf.Format
	opts   *rdf.EncoderOptions
}{
	"ntriples": {rdf.NTriples, nil},
	"nquads":   {rdf.NQuads, nil},
	"turtle":   {rdf.Turtle, nil},
	"trig":     {rdf.TriG, nil},
	"jsonld":   {rdf.JSONLD, nil},
	"rdfxml":   {rdf.RDFXML, nil},
	"rdfjson":  {rdf.RDFJSON, nil},
	"rdfxml with prefixes": {rdf.RDFXML, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{
		{Name: "", IRI: "http://a.example/"}, {Name: "rdf", IRI: "http://example.org/"}, {
			Name: "e2",
			IRI:  "http://example.org/ns#",
		},
		{Name: "xmlfoo", IRI: "http://www.w3.org/2001/XMLSchema#"}, {
			Name: "r",
			IRI:  "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
		},
		{Name: "x", IRI: "http://www.w3.org/XML/1998/namespace"}, {Name: "a.b-c", IRI: "http://a.example/?a&b'"},
	}}},
	"turtle with prefixes": {rdf.Turtle, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{
		{Name: "", IRI: "http://a.example/"}, {Name: "ex", IRI: "http://example.org/"}, {
			Name: "e2",
			IRI:  "http://example.org/ns#",
		},
		{Name: "xsd", IRI: "http://www.w3.org/2001/XMLSchema#"}, {
			Name: "rdf",
			IRI:  "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
		},
		{
			Name: "long",
			IRI:  "http://example.org/very/long/namespace/",
		}, {Name: "t", IRI: "http://www.w3.org/2013/TurtleTests/"},
	}}},
	"trig with a base": {rdf.TriG, &rdf.EncoderOptions{
		Base:     "http://www.w3.org/2013/TurtleTests/x",
		Prefixes: []rdf.Prefix{{Name: "a.b-c", IRI: "http://a.example/"}},
	}},
	"turtle with a base": {rdf.Turtle, &rdf.EncoderOptions{Base: "http://a.example/"}},
}

func TestEncoder_keepsEveryW3CGraph(t *testing.T) {
	const wantGraphs = 145 + 143
	encoders := map[string]*rdf.Encoder{}
	for name, w := range writers {
		e, err := rdf.NewEncoder(w.format, w.opts)
		require.NoError(t, err)
		encoders[name] = e
	}
	graphs, incomplete := 0, map[string]int{}
	for _, suite := range []string{"turtle", "trig"} {
		folder := conformance.Dir(t, "w3c/"+suite)
		for _, test := range manifest(t, folder) {
			if test.result == "" {
				continue
			}
			graphs++
			want := expected(t, folder, test)
			for name, e := range encoders {
				if requireKept(t, e, want, name+" "+filepath.Join(suite, test.name)) > 0 {
					incomplete[name]++
				}
			}
		}
	}
	require.Equal(t, wantGraphs, graphs)
	// Literals with controls, which no document of XML 1.0 can hold.
	require.Equal(t, map[string]int{"rdfxml": 18, "rdfxml with prefixes": 18}, incomplete)
}

// named selects which formats have named graphs.
var named = map[rdf.Format]bool{rdf.NQuads: true, rdf.TriG: true, rdf.JSONLD: true}

// requireKept writes the statements and reads them back. Encoders without named
// graphs get the default graph only. Statements that the encoder reports to have
// no form must have none indeed, and nothing else may be missing; their number is
// returned.
func requireKept(t testing.TB, e *rdf.Encoder, quads []rdf.Quad, about string) (leftOut int) {
	t.Helper()
	var want []rdf.Quad
	var out []byte
	for _, q := range quads {
		if !named[e.Format()] && !q.Graph.IsZero() {
			continue
		}
		size := len(out)
		out = e.Append(out, q)
		if e.Format() == rdf.RDFXML && len(out) == size {
			require.Error(t, e.Err(), about)
			require.False(t, hasXMLForm(q), "%s: %v: %s", about, q, e.Err())
			leftOut++
			continue
		}
		want = append(want, q)
	}
	out = e.AppendEnd(out)
	var got []rdf.Quad
	var err error
	switch e.Format() {
	case rdf.JSONLD:
		got = readExpanded(t, out)
	case rdf.RDFJSON:
		got = readRDFJSON(t, out)
	case rdf.RDFXML:
		got = readXML(t, out)
	default:
		got, err = read(out, e.Format(), "")
		require.NoError(t, err, "%s:\n%s", about, out)
	}
	require.Empty(t, rdftest.Diff(got, want), "%s:\n%s", about, out)
	return leftOut
}

// readExpanded reads the shape of JSON-LD that the encoder writes, by the rules
// for expanded documents (JSON-LD 1.1 section 9) and nothing else.
func readExpanded(t testing.TB, data []byte) []rdf.Quad {
	t.Helper()
	var nodes []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &nodes), "%s", data)
	var quads []rdf.Quad
	for _, n := range nodes {
		quads = append(quads, readNode(t, n, rdf.Term{})...)
	}
	return quads
}

func readNode(t testing.TB, node map[string]json.RawMessage, graph rdf.Term) []rdf.Quad {
	t.Helper()
	var quads []rdf.Quad
	subject := readID(t, node["@id"])
	for key, raw := range node {
		switch key {
		case "@id":
		case "@graph":
			require.True(t, graph.IsZero())
			var inner []map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(raw, &inner))
			for _, n := range inner {
				quads = append(quads, readNode(t, n, subject)...)
			}
		case "@type":
			var types []json.RawMessage
			require.NoError(t, json.Unmarshal(raw, &types))
			for _, id := range types {
				quads = append(quads,
					rdf.Quad{Subject: subject, Predicate: rdf.NewIRI(rdf.Type), Object: readID(t, id), Graph: graph})
			}
		default:
			require.NotEqual(t, byte('@'), key[0])
			var values []map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(raw, &values))
			for _, v := range values {
				quads = append(quads, rdf.Quad{Subject: subject, Predicate: rdf.NewIRI(key), Object: readValue(t, v), Graph: graph})
			}
		}
	}
	return quads
}

func readID(t testing.TB, raw json.RawMessage) rdf.Term {
	t.Helper()
	id := text(t, raw)
	if label, ok := bytes.CutPrefix([]byte(id), []byte("_:")); ok {
		return rdf.NewBlank(string(label))
	}
	return rdf.NewIRI(id)
}

func readValue(t testing.TB, v map[string]json.RawMessage) rdf.Term {
	t.Helper()
	if id, ok := v["@id"]; ok {
		require.Len(t, v, 1)
		return readID(t, id)
	}
	lexical := text(t, v["@value"])
	require.LessOrEqual(t, len(v), 2)
	if tag, ok := v["@language"]; ok {
		return rdf.NewLang(lexical, text(t, tag))
	}
	if datatype, ok := v["@type"]; ok {
		return rdf.NewTyped(lexical, text(t, datatype))
	}
	return rdf.NewLiteral(lexical)
}

func text(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var s string
	require.NoError(t, json.Unmarshal(raw, &s), "%s", raw)
	return s
}

func TestParseTerm_readsTheCanonicalFormBack(t *testing.T) {
	dir := conformance.Dir(t, "w3c/turtle")
	for _, test := range manifest(t, dir) {
		if test.result == "" {
			continue
		}
		quads := expected(t, dir, test)
		for _, q := range quads {
			for _, term := range []rdf.Term{q.Subject, q.Predicate, q.Object} {
				encoded := rdf.AppendTerm(nil, term)
				got, err := rdf.ParseTerm(encoded)
				require.NoError(t, err)
				require.Equal(t, term, got)
				require.Equal(t, encoded, rdf.AppendTerm(nil, got))
			}
		}
	}
}
