package rdf_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

var seeds = []string{
	"",
	"<s:a> <s:b> <s:c> .\n",
	"<s:a> <s:b> <s:c> <s:d> .\n_:a <s:b> \"x\\u00e9\\n\"@en-GB . # end\n",
	"@prefix ex: <http://example.org/> .\nex:a a ex:b ; ex:c 1, -2.5, 3e4, true ; .\n",
	"PREFIX : <x> BASE <http://h/> :a%20\\~b <../c> '''long \"\\\\'''^^:d .",
	"[ <s:b> ( 1 [ ] ( ) \"two\"@de ) ] . () <s:p> [] .",
	"GRAPH <s:g> { <s:a> <s:b> _:c.d . [] <s:e> <s:f> } _:g { } { <s:a> <s:b> \"\"\"\"x\"\"\" }",
	"<s:a> <s:b> \"\\uD800\" .",
	"<s:a> <s:b> '\xff' .",
	"\uFEFF<s:\u00FC> <s:b> <s:c> .",
}

func fuzzReader(f *testing.F, format rdf.Format) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		got, err := read(data, format, "http://example.org/base")
		slow, errSlow := readFrom(&dripping{data}, format, "http://example.org/base")
		require.Equal(t, err, errSlow, "the size of the reads does not matter")
		require.Equal(t, got, slow)
		lines, err := rdf.NewEncoder(rdf.NQuads, nil)
		require.NoError(t, err)
		var out []byte
		for _, q := range got {
			out = lines.Append(out, q)
		}
		again, err := read(out, rdf.NQuads, "")
		require.NoError(t, err, "%s", out)
		require.Equal(t, got, again)
		if len(got) > 50 {
			return
		}
		for _, w := range writers {
			e, err := rdf.NewEncoder(w.format, w.opts)
			require.NoError(t, err)
			requireKept(t, e, got, w.format.String())
		}
	})
}

func FuzzTurtle(f *testing.F)   { fuzzReader(f, rdf.Turtle) }
func FuzzTriG(f *testing.F)     { fuzzReader(f, rdf.TriG) }
func FuzzNTriples(f *testing.F) { fuzzReader(f, rdf.NTriples) }
func FuzzNQuads(f *testing.F)   { fuzzReader(f, rdf.NQuads) }

func FuzzParseTerm(f *testing.F) {
	for _, s := range []string{
		"<s:a>", "_:a.b", `"x\"\t\u00e9"@en`, `"1"^^<s:d>`, `"`, `"\`, "<", "_", `""^`, `""@`, "\"\xff\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		term, err := rdf.ParseTerm(data)
		if err != nil {
			return
		}
		encoded := rdf.AppendTerm(nil, term)
		again, err := rdf.ParseTerm(encoded)
		require.NoError(t, err)
		require.Equal(t, term, again)
		require.Equal(t, encoded, rdf.AppendTerm(nil, again))
	})
}

func FuzzAppendLiteral(f *testing.F) {
	for _, s := range []string{
		"", "plain", "quote\"", "back\\slash", "\x00\x7f", "\xff\xc3", "Grenzübergang", "\uFFFE\uFFFF\uFFFD",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		encoded := rdf.AppendLiteral([]byte("before"), data)
		require.Equal(t, "before", string(encoded[:6]))
		term, err := rdf.ParseTerm(encoded[6:])
		require.NoError(t, err, "%q", encoded)
		require.Equal(t, string([]rune(string(data))), term.Value)
		require.True(t, utf8.Valid(encoded))
		require.Equal(t, string(encoded[6:]), string(rdf.AppendTerm(nil, rdf.NewLiteral(term.Value))))
	})
}

// FuzzEncoder makes statements of arbitrary terms and writes them in every way:
// valid ones must be read back equal, and whatever is given as encoded must
// neither panic nor make XML that is not well-formed.
func FuzzEncoder(f *testing.F) {
	f.Add("http://e/s", "http://e/p", "21.5", rdf.XSDDecimal, "http://e/g")
	f.Add("b1", rdf.Type, "http://e/T", "", "b1")
	f.Add("1.a", "http://e/1", "\x00\uFFFE\r\n\t]]>&<\"\\", "de-AT", "")
	f.Add("http://e/\uFFFF", rdfNS+"li", "größe", rdf.LangString, "_")
	f.Add("urn:a&b'c", "p:ŧ·é.", "\xff", "x-y", "s:")
	f.Add("<a> <b", "http://www.w3.org/2000/xmlns/pq", "\"", "<", "\\")
	encoders := map[string]*rdf.Encoder{}
	for name, w := range writers {
		e, err := rdf.NewEncoder(w.format, w.opts)
		require.NoError(f, err)
		encoders[name] = e
	}
	f.Fuzz(func(t *testing.T, a, b, c, d, g string) {
		if len(a)+len(b)+len(c)+len(d)+len(g) > 1000 {
			return
		}
		var nodes, iris, objects []rdf.Term
		for _, text := range []string{a, b, c, d, g} {
			if _, ok := rdf.ValidIRI([]byte(text)); ok {
				iris = append(iris, rdf.NewIRI(text))
				nodes = append(nodes, rdf.NewIRI(text))
				objects = append(objects, rdf.NewTyped(strings.ToValidUTF8(c, "?"), text))
			}
			if rdf.ValidLabel([]byte(text)) {
				nodes = append(nodes, rdf.NewBlank(text))
			}
			if rdf.ValidLangTag([]byte(text)) {
				objects = append(objects, rdf.NewLang(strings.ToValidUTF8(c, "?"), text))
			}
			objects = append(objects, rdf.NewLiteral(strings.ToValidUTF8(text, "?")))
		}
		nodes, iris = append(nodes, rdf.NewIRI("s:s")), append(iris, rdf.NewIRI("p:p"))
		objects = append(objects, nodes...)
		graphs := append([]rdf.Term{{}}, nodes...)
		var quads []rdf.Quad
		for i, o := range objects {
			quads = append(quads, rdf.Quad{
				Subject: nodes[i/3%len(nodes)], Predicate: iris[i/2%len(iris)], Object: o, Graph: graphs[i/4%len(graphs)],
			})
		}
		for name, e := range encoders {
			requireNoPanic(t, e, a, b, c, d, g)
			requireKept(t, e, quads, name)
			requireKept(t, e, quads[len(quads)/2:], name+", the second document")
		}
	})
}

// requireNoPanic writes texts that are not terms, in all places.
func requireNoPanic(t *testing.T, e *rdf.Encoder, texts ...string) {
	t.Helper()
	var out []byte
	for i := range texts {
		term := func(k int) []byte { return []byte(texts[(i+k)%len(texts)]) }
		out = e.AppendEncoded(out, term(0), term(1), term(2), term(3))
		out = e.AppendEncoded(out, term(0), []byte("<p:p>"), term(2), term(3))
		out = e.AppendEncoded(out, []byte("<s:s>"), []byte("<p:p>"), term(2), term(4))
	}
	if out = e.AppendEnd(out); e.Format() == rdf.RDFXML {
		readXML(t, out)
	}
}
