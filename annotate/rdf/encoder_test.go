package rdf_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
)

func ExampleNewEncoder() {
	e, err := rdf.NewEncoder(rdf.Turtle, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{
		{Name: "sosa", IRI: "http://www.w3.org/ns/sosa/"},
		{Name: "xsd", IRI: "http://www.w3.org/2001/XMLSchema#"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	obs := rdf.NewIRI("http://example.org/obs/1")
	var out []byte
	out = e.Append(out, rdf.Quad{
		Subject:   obs,
		Predicate: rdf.NewIRI(rdf.Type),
		Object:    rdf.NewIRI("http://www.w3.org/ns/sosa/Observation"),
	})
	out = e.Append(out, rdf.Quad{
		Subject:   obs,
		Predicate: rdf.NewIRI("http://www.w3.org/ns/sosa/hasSimpleResult"),
		Object:    rdf.NewTyped("21.5", rdf.XSDDecimal),
	})
	out = e.AppendEnd(out)
	fmt.Print(string(out))
	// Output:
	// @prefix sosa: <http://www.w3.org/ns/sosa/> .
	// @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
	//
	// <http://example.org/obs/1> a sosa:Observation ;
	// 	sosa:hasSimpleResult "21.5"^^xsd:decimal .
}

func encode(t *testing.T, f rdf.Format, opts *rdf.EncoderOptions, nquads string) string {
	t.Helper()
	quads, err := read([]byte(nquads), rdf.NQuads, "")
	require.NoError(t, err)
	e, err := rdf.NewEncoder(f, opts)
	require.NoError(t, err)
	var out []byte
	for _, q := range quads {
		out = e.Append(out, q)
	}
	return string(e.AppendEnd(out))
}

const mixed = `<http://example.org/s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/T> .
<http://example.org/s> <http://example.org/p> "a" .
<http://example.org/s> <http://example.org/p> "b"@en .
<http://example.org/s> <http://example.org/q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:b <http://example.org/p> <http://example.org/a/b> .
_:b <http://example.org/p> <http://example.org/s> <http://example.org/g> .
_:b <http://example.org/q> "x\"\\\n" <http://example.org/g> .
<http://example.org/s> <http://example.org/p> "c" .
`

func TestEncoder_concatenatesLineFormats(t *testing.T) {
	require.Equal(t, mixed, encode(t, rdf.NQuads, nil, mixed))
	require.Equal(t, strings.ReplaceAll(mixed, " <http://example.org/g> .", " ."), encode(t, rdf.NTriples, nil, mixed))
}

func TestEncoder_groupsStatementsInTurtle(t *testing.T) {
	want := `@prefix ex: <http://example.org/> .

ex:s a ex:T ;
	ex:p "a" , "b"@en ;
	ex:q "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:b ex:p <http://example.org/a/b> , ex:s ;
	ex:q "x\"\\\n" .
ex:s ex:p "c" .
`
	opts := &rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "ex", IRI: ex}}}
	require.Equal(t, want, encode(t, rdf.Turtle, opts, mixed))
}

func TestEncoder_writesGraphBlocksInTriG(t *testing.T) {
	want := `@base <http://example.org/x> .

<s> a <T> ;
	<p> "a" , "b"@en ;
	<q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:b <p> <http://example.org/a/b> .
<g> {
_:b <p> <s> ;
	<q> "x\"\\\n" .
}
<s> <p> "c" .
`
	require.Equal(t, want, encode(t, rdf.TriG, &rdf.EncoderOptions{Base: ex + "x"}, mixed))
}

func TestEncoder_groupsJSONLDBySubjectAndGraph(t *testing.T) {
	want := `[{"@id":"http://example.org/s","@type":["http://example.org/T"],` +
		`"http://example.org/p":[{"@value":"a"},{"@value":"b","@language":"en"},{"@value":"c"}],` +
		`"http://example.org/q":[{"@value":"1","@type":"http://www.w3.org/2001/XMLSchema#integer"}]},
{"@id":"_:b","http://example.org/p":[{"@id":"http://example.org/a/b"}]},
{"@id":"http://example.org/g","@graph":[{"@id":"_:b","http://example.org/p":[{"@id":"http://example.org/s"}],` +
		`"http://example.org/q":[{"@value":"x\"\\\n"}]}]}]
`
	require.Equal(t, want, encode(t, rdf.JSONLD, nil, mixed+mixed))
}

func TestEncoder_keepsLiteralTypesInJSONLD(t *testing.T) {
	const s = `<http://e/s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "literal" .
<http://e/s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> _:t .
`
	require.Equal(t, `[{"@id":"http://e/s","@type":["_:t"],"http://www.w3.org/1999/02/22-rdf-syntax-ns#type":[{"@value":"literal"}]}]
`, encode(t, rdf.JSONLD, nil, s))
}

func TestEncoder_boundsTheMemoryOfJSONLD(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.JSONLD, nil)
	require.NoError(t, err)
	var out, want []byte
	lines, err := rdf.NewEncoder(rdf.NQuads, nil)
	require.NoError(t, err)
	value := strings.Repeat("v", 10_000)
	early := 0
	for i := range 1000 {
		q := rdf.Quad{
			Subject:   rdf.NewIRI(ex + "s"),
			Predicate: rdf.NewIRI(ex + "p"),
			Object:    rdf.NewLiteral(value + strconv.Itoa(i)),
		}
		out = e.Append(out, q)
		want = lines.Append(want, q)
		if i == 500 {
			early = len(out)
		}
	}
	require.Greater(t, early, 4_000_000, "the first part is written before the end")
	quads, err := read(want, rdf.NQuads, "")
	require.NoError(t, err)
	require.Empty(t, rdftest.Diff(readExpanded(t, e.AppendEnd(out)), quads))
}

func TestEncoder_AppendEnd_completesAnEmptyDocument(t *testing.T) {
	opts := &rdf.EncoderOptions{Base: ex, Prefixes: []rdf.Prefix{{Name: "ex", IRI: ex}}}
	for _, f := range readable() {
		require.Empty(t, encode(t, f, opts, ""), f)
	}
	require.Equal(t, "[]\n", encode(t, rdf.JSONLD, opts, ""))
	require.Equal(t, "{}\n", encode(t, rdf.RDFJSON, opts, ""))
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xmlns:ex="http://example.org/"/>
`, encode(t, rdf.RDFXML, opts, ""))
}

func TestEncoder_AppendEnd_startsANewDocument(t *testing.T) {
	opts := &rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "ex", IRI: ex}}}
	quads, err := read([]byte(mixed), rdf.NQuads, "")
	require.NoError(t, err)
	for _, f := range rdf.Formats() {
		e, err := rdf.NewEncoder(f, opts)
		require.NoError(t, err)
		var first, second, third []byte
		for _, q := range quads {
			first = e.Append(first, q)
		}
		first = e.AppendEnd(first)
		for _, q := range quads {
			second = e.Append(second, q)
		}
		second = e.AppendEnd(second)
		require.Equal(t, string(first), string(second), f)
		for _, q := range quads[:6] {
			third = e.Append(third, q)
		}
		e.Reset()
		third = third[:0]
		for _, q := range quads {
			third = e.Append(third, q)
		}
		require.Equal(t, string(first), string(e.AppendEnd(third)), f)
	}
}

func TestEncoder_shortensNamesOnlyWhereThatIsSafe(t *testing.T) {
	opts := &rdf.EncoderOptions{Base: "http://b/d/x?q#f", Prefixes: []rdf.Prefix{
		{Name: "", IRI: "http://e/"}, {Name: "n", IRI: "http://e/n-"}, {Name: "x.y", IRI: "http://u/"},
	}}
	e, err := rdf.NewEncoder(rdf.Turtle, opts)
	require.NoError(t, err)
	for iri, want := range map[string]string{
		"http://e/":         ":",
		"http://e/a":        ":a",
		"http://e/9":        ":9",
		"http://e/_x":       ":_x",
		"http://e/-x":       "<http://e/-x>",
		"http://e/a.":       "<http://e/a.>",
		"http://e/a/b":      "<http://e/a/b>",
		"http://e/ü":        "<http://e/ü>",
		"http://e/a%20b":    "<http://e/a%20b>",
		"http://e/n-1":      "n:1",
		"http://e/n-":       "n:",
		"http://e/n--":      ":n--",
		"http://u/z":        "x.y:z",
		"http://b/d/z":      "<z>",
		"http://b/d/":       "<http://b/d/>",
		"http://b/d/x?q#g":  "<http://b/d/x?q#g>",
		"http://b/d/y/z":    "<http://b/d/y/z>",
		"http://b/d/..":     "<http://b/d/..>",
		"http://b/other":    "<http://b/other>",
		"http://b/d/a:b":    "<http://b/d/a:b>",
		"http://other/d/zz": "<http://other/d/zz>",
	} {
		for range 2 { // the second time from the cache
			term := rdf.NewIRI(iri)
			out := string(e.Append(nil, rdf.Quad{Subject: rdf.NewBlank("s"), Predicate: rdf.NewIRI("p:p"), Object: term}))
			require.True(t, strings.HasSuffix(out, "_:s <p:p> "+want), "%s: %s", iri, out)
			out = string(e.AppendEnd([]byte(out)))
			quads, err := read([]byte(out), rdf.Turtle, "")
			require.NoError(t, err)
			require.Equal(t, term, quads[0].Object)
		}
	}
}

func TestNewEncoder_refusesWrongOptions(t *testing.T) {
	for _, c := range []struct {
		format rdf.Format
		opts   rdf.EncoderOptions
		want   string
	}{
		{rdf.Turtle, rdf.EncoderOptions{Base: "x"}, `use base "x"`},
		{rdf.Turtle, rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "1", IRI: ex}}}, `use prefix "1": not a prefix name`},
		{rdf.Turtle, rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "_", IRI: ex}}}, `use prefix "_": not a prefix name`},
		{rdf.Turtle, rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "a.", IRI: ex}}}, `use prefix "a.": not a prefix name`},
		{
			rdf.Turtle,
			rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "a", IRI: "b c:"}}},
			`"b c:" is not an absolute IRI (byte 1)`,
		},
		{
			rdf.Turtle,
			rdf.EncoderOptions{Prefixes: []rdf.Prefix{{Name: "a", IRI: ex}, {Name: "a", IRI: ex}}},
			`use prefix "a": declared twice`,
		},
		{rdf.RDFJSON + 1, rdf.EncoderOptions{}, "format(7)"},
		{rdf.RDFJSON, rdf.EncoderOptions{MaxBytes: -1}, "use MaxBytes -1"},
	} {
		_, err := rdf.NewEncoder(c.format, &c.opts)
		require.ErrorContains(t, err, c.want)
	}
}

func TestEncoder_AppendEncoded_acceptsAReusedBuffer(t *testing.T) {
	for _, f := range rdf.Formats() {
		e, err := rdf.NewEncoder(f, nil)
		require.NoError(t, err)
		var want, got []byte
		encoded := func(i, position int) []byte { // all of one length
			if position == 1 {
				i /= 2
			}
			return fmt.Appendf(nil, "<http://example.org/%c%c>", 'a'+position, 'a'+i)
		}
		for i := range 8 {
			want = e.AppendEncoded(want, encoded(i, 0), encoded(i, 1), encoded(i, 2), encoded(i, 3))
		}
		want = e.AppendEnd(want)
		var buffers [4][]byte
		for i := range 8 {
			for position := range buffers {
				buffers[position] = append(buffers[position][:0], encoded(i, position)...)
			}
			got = e.AppendEncoded(got, buffers[0], buffers[1], buffers[2], buffers[3])
		}
		require.Equal(t, string(want), string(e.AppendEnd(got)), f)
	}
}

func TestEncoder_distinguishesTermsThatDifferInOneByte(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.TriG, nil)
	require.NoError(t, err)
	for size := 3; size < 90; size++ {
		var out []byte
		var want []rdf.Quad
		for at := range size - 2 {
			text := []byte("s:" + strings.Repeat("a", size-2))
			term := rdf.NewIRI(string(text))
			text[2+at] = 'b'
			other := rdf.NewIRI(string(text))
			for _, q := range []rdf.Quad{
				{Subject: term, Predicate: term, Object: term, Graph: term},
				{Subject: term, Predicate: term, Object: other, Graph: term},
				{Subject: term, Predicate: other, Object: rdf.NewTyped("1", term.Value), Graph: term},
				{Subject: other, Predicate: other, Object: rdf.NewTyped("1", other.Value), Graph: term},
				{Subject: other, Predicate: term, Object: term, Graph: other},
			} {
				want = append(want, q)
				out = e.Append(out, q)
			}
		}
		got, err := read(e.AppendEnd(out), rdf.TriG, "")
		require.NoError(t, err)
		if !slices.Equal(got, want) {
			require.Equal(t, want, got)
		}
	}
}

func TestEncoder_acceptsMissingTerms(t *testing.T) {
	for _, f := range rdf.Formats() {
		e, err := rdf.NewEncoder(f, nil)
		require.NoError(t, err)
		require.NotPanics(t, func() { e.AppendEnd(e.Append(nil, rdf.Quad{})) }, f)
		require.NotPanics(t, func() {
			e.AppendEnd(e.Append(nil, rdf.Quad{Subject: rdf.NewBlank("s"), Predicate: rdf.NewIRI(rdf.Type)}))
		}, f)
	}
}

func TestParseFormat_acceptsEveryName(t *testing.T) {
	for _, f := range rdf.Formats() {
		for _, name := range append(f.Syntax().Aliases, f.String(), strings.ToUpper(f.String())) {
			got, err := rdf.ParseFormat(name)
			require.NoError(t, err)
			require.Equal(t, f, got, name)
		}
	}
	_, err := rdf.ParseFormat("xml")
	require.EqualError(t, err, `parse format "xml": expected one of `+rdf.FormatNames(nil))
	require.Contains(t, rdf.FormatNames(nil), "ntriples, nquads, turtle, ")
}

// A row that is not complete, or that claims what its writer does not do, is found here.
func TestFormat_Syntax_describesTheWriter(t *testing.T) {
	quads := []rdf.Quad{
		{Subject: rdf.NewIRI("http://s.example/"), Predicate: rdf.NewIRI("http://p.example/p"), Object: rdf.NewLiteral("1")},
		{Subject: rdf.NewIRI("http://s.example/"), Predicate: rdf.NewIRI("http://p.example/p"), Object: rdf.NewLiteral("2"),
			Graph: rdf.NewIRI("http://g.example/")},
	}
	seen := map[string]rdf.Format{}
	for _, f := range rdf.Formats() {
		syntax := f.Syntax()
		for _, unique := range []string{"name " + syntax.Name, syntax.MediaType, syntax.Extension, "identifier " + syntax.Identifier} {
			require.NotContains(t, seen, unique)
			seen[unique] = f
		}
		require.Contains(t, syntax.MediaType, "/")
		require.Regexp(t, `^\.[a-z]+$`, syntax.Extension)
		require.NotEmpty(t, syntax.Identifier)
		e, err := rdf.NewEncoder(f, &rdf.EncoderOptions{MaxBytes: 1 << 12})
		require.NoError(t, err)
		var document []byte
		lines := true
		for i, q := range quads {
			document = e.Append(document, q)
			lines = lines && bytes.Count(document, []byte("\n")) == i+1
		}
		require.Equal(t, syntax.Lines, lines, f)
		document = e.AppendEnd(document)
		require.NoError(t, e.Err())
		require.Equal(t, syntax.NamedGraphs, bytes.Contains(document, []byte("http://g.example/")), f)
		_, err = rdf.NewReader(bytes.NewReader(document), f, nil)
		require.Equal(t, syntax.Readable, err == nil, f)
		for i := range 64 { // more than MaxBytes, with a predicate that has no name in XML
			subject := rdf.NewIRI(fmt.Sprintf("http://s.example/%0100d", i))
			e.Append(nil, rdf.Quad{Subject: subject, Predicate: rdf.NewIRI("http://p.example/1"), Object: rdf.NewLiteral("x")})
		}
		require.Equal(t, syntax.Partial, e.Err() != nil, f)
	}
}
