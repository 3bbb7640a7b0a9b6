package rdf_test

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/piprate/json-gold/ld"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/internal/conformance"
)

// readJSONLD reads a JSON-LD document with a full processor.
func readJSONLD(t testing.TB, data []byte) []rdf.Quad {
	t.Helper()
	document, err := ld.DocumentFromReader(bytes.NewReader(data))
	require.NoError(t, err)
	result, err := ld.NewJsonLdProcessor().ToRDF(document, ld.NewJsonLdOptions(""))
	require.NoError(t, err, "%s", data)
	var quads []rdf.Quad
	for name, graph := range result.(*ld.RDFDataset).Graphs {
		for _, q := range graph {
			quad := rdf.Quad{Subject: goldTerm(t, q.Subject), Predicate: goldTerm(t, q.Predicate), Object: goldTerm(t, q.Object)}
			if name != "@default" {
				quad.Graph = goldNode(name)
			}
			quads = append(quads, quad)
		}
	}
	return quads
}

func goldTerm(t testing.TB, node ld.Node) rdf.Term {
	t.Helper()
	switch n := node.(type) {
	case ld.IRI:
		return rdf.NewIRI(n.Value)
	case ld.BlankNode:
		return goldNode(n.Attribute)
	case ld.Literal:
		if n.Language != "" {
			return rdf.NewLang(n.Value, n.Language)
		}
		return rdf.NewTyped(n.Value, n.Datatype)
	}
	require.Fail(t, "unknown node", "%T", node)
	return rdf.Term{}
}

func goldNode(id string) rdf.Term {
	if label, ok := strings.CutPrefix(id, "_:"); ok {
		return rdf.NewBlank(label)
	}
	return rdf.NewIRI(id)
}

func TestEncoder_writesJSONLDThatAProcessorReads(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.JSONLD, nil)
	require.NoError(t, err)
	graphs := 0
	statements := 0
	inNamed := 0
	for _, suite := range []string{"turtle", "trig"} {
		folder := conformance.Dir(t, "w3c/"+suite)
		for _, test := range manifest(t, folder) {
			if test.result == "" {
				continue
			}
			var out []byte
			want := expected(t, folder, test)
			for _, q := range want {
				out = e.Append(out, q)
				if !q.Graph.IsZero() {
					inNamed++
				}
			}
			out = e.AppendEnd(out)
			require.Empty(t, rdftest.Diff(readJSONLD(t, out), want), "%s:\n%s", filepath.Join(suite, test.name), out)
			graphs++
			statements += len(want)
		}
	}
	require.Equal(t, 145+143, graphs)
	require.NotZero(t, inNamed)
	t.Logf("%d graphs, %d statements, %d of them in named graphs", graphs, statements, inNamed)
}

func TestEncoder_repeatsJSONLDSubjectsAsProcessorsExpect(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.JSONLD, nil)
	require.NoError(t, err)
	var out []byte
	var want []rdf.Quad
	const subjects = 50
	value := strings.Repeat("v", 2000)
	for i := range 2600 { // every subject comes back in both graphs, after each flush
		q := rdf.Quad{
			Subject:   rdf.NewBlank("s" + strconv.Itoa(i%subjects)),
			Predicate: rdf.NewIRI(ex + "p"),
			Object:    rdf.NewLiteral(value + strconv.Itoa(i)),
		}
		if i%2 == 0 {
			q.Graph = rdf.NewBlank("g")
		}
		if i%3 == 0 {
			q.Predicate, q.Object = rdf.NewIRI(rdf.Type), rdf.NewIRI(ex+value+strconv.Itoa(i))
		}
		if i%500 == 7 {
			q.Object, q.Graph = rdf.NewBlank("s"+strconv.Itoa(i%subjects)), rdf.Term{}
		}
		out = e.Append(out, q)
		want = append(want, q)
	}
	out = e.AppendEnd(out)
	require.Greater(t, bytes.Count(out, []byte(`"@graph"`)), 1, "it was written in several parts")
	require.Empty(t, rdftest.Diff(readJSONLD(t, out), want))
}

func TestEncoder_writesUncommonTermsInJSONLD(t *testing.T) {

	s, p, g := rdf.NewIRI("urn:a:b"), rdf.NewIRI("tag:p@x"), rdf.NewBlank("9.g")
	var want []rdf.Quad
	for _, o := range []rdf.Term{
		rdf.NewTyped(`{"a":1}`, rdfNS+"JSON"), rdf.NewTyped("<b>x</b>", rdfNS+"XMLLiteral"),
		rdf.NewTyped("true",
			rdf.XSDBoolean), rdf.NewTyped("007", rdf.XSDInteger), rdf.NewTyped("1.0", rdf.XSDDouble), rdf.NewTyped("1E400",
			rdf.XSDDouble),
		rdf.NewLang("x", "de-Latn-AT-1996-x-a"), rdf.NewLiteral(""), rdf.NewLiteral("@id"), rdf.NewLiteral("\x00\b\f\u2028\uFFFE\U0010FFFF"),
		rdf.NewIRI(rdf.Nil), rdf.NewIRI("mailto:a@b"), rdf.NewBlank("9.g"), rdf.NewBlank("_"), rdf.NewIRI("http://e.org/ü?a=%20#@type"),
	} {
		for _, predicate := range []rdf.Term{p, rdf.NewIRI(rdf.Type), rdf.NewIRI(rdf.First)} {
			want = append(want, rdf.Quad{Subject: s, Predicate: predicate, Object: o},
				rdf.Quad{Subject: g, Predicate: predicate, Object: o, Graph: g})
		}
	}
	e, err := rdf.NewEncoder(rdf.JSONLD, nil)
	require.NoError(t, err)
	var out []byte
	for _, q := range want {
		out = e.Append(out, q)
	}
	require.Empty(t, rdftest.Diff(readJSONLD(t, e.AppendEnd(out)), want))
}
