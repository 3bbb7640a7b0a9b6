package rdf_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
)

const ex = "http://example.org/"

func ExampleNewReader() {
	const doc = `@prefix ex: <http://example.org/> .
ex:thermometer ex:reads 21.5 ;
	ex:in [ ex:name "kitchen"@en ] .`
	r, err := rdf.NewReader(strings.NewReader(doc), rdf.Turtle, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for q, err := range r.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("line %d: %s\n", r.Line(), rdf.AppendTerm(nil, q.Object))
	}
	// Output:
	// line 2: "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>
	// line 3: "kitchen"@en
	// line 2: _:anon1
}

func TestReader_namesThePlaceOfAMistake(t *testing.T) {
	for _, c := range []struct {
		format       rdf.Format
		text         string
		line, column int
		reason       string
	}{
		{rdf.Turtle, "<a> <b> <c> .", 1, 1, "relative IRI <a> without a base"},
		{rdf.Turtle, "\n\n  ex:a ex:b ex:c .", 3, 3, `prefix "ex" is not declared`},
		{rdf.Turtle, "<s:a> <s:b> <s:c>", 1, 18, `the input ends where ",", ";" or "." is expected`},
		{rdf.Turtle, "<s:a> <s:b> 'x\ny' .", 1, 15, "line break within a string"},
		{rdf.Turtle, "<s:a> <s:b> '''x\ny'''\n  oops .", 3, 3, `'o' where ",", ";" or "." is expected`},
		{rdf.Turtle, `<s:a> <s:b> "a\q" .`, 1, 15, "wrong escape"},
		{rdf.Turtle, `<s:a> <s:b> "\uD800" .`, 1, 14, "wrong escape"},
		{rdf.Turtle, "<s:a> <s: b> <s:c> .", 1, 10, `' ' within an IRI`},
		{rdf.Turtle, `<s:a> <s:\u0020b> <s:c> .`, 1, 10, `' ' within an IRI`},
		{rdf.Turtle, "<s:a> <s:b> [ <s:c> <s:d> .", 1, 27, `'.' where ",", ";" or "]" is expected`},
		{rdf.Turtle, "<s:a> <s:b> \"\xff\" .", 1, 13, "string that is not UTF-8"},
		{rdf.Turtle, "<s:\xff> <s:b> \"\" .", 1, 1, "IRI that is not UTF-8"},
		{rdf.Turtle, "<s:g> { }", 1, 7, `'{' where a predicate is expected`},
		{rdf.Turtle, "@PREFIX : <s:> .", 1, 1, "unknown directive @PREFIX"},
		{rdf.TriG, "<s:g> { <s:a> <s:b> <s:c>", 1, 26, "the input ends"},
		{rdf.TriG, "{ @prefix : <s:> . }", 1, 3, "'@' where a subject is expected"},
		{rdf.TriG, "GRAPH (1) { }", 1, 10, "may name a graph"},
		{rdf.NTriples, "<s:a> <s:b> <s:c> <s:d> .", 1, 19, `'<' where "." is expected`},
		{rdf.NTriples, "<s:a> <s:b> <s:c> . <s:d>", 1, 21, "the end of the line"},
		{rdf.NTriples, "<s:a> <s:b>\n<s:c> .", 1, 12, `'\n' where an object is expected`},
		{rdf.NTriples, "<s:a> <s:b> 'x' .", 1, 13, `'\'' where an object is expected`},
		{rdf.NQuads, "<s:a> <s:b> <s:c> \"g\" .", 1, 19, `'"' where a graph or "." is expected`},
	} {
		_, err := read([]byte(c.text), c.format, "")
		var syntax *rdf.SyntaxError
		require.ErrorAs(t, err, &syntax, c.text)
		require.Contains(t, syntax.Reason, c.reason, c.text)
		require.Equal(t, [2]int{c.line, c.column}, [2]int{syntax.Line, syntax.Column}, c.text)
	}
}

func TestReader_Line_isThatOfTheSubject(t *testing.T) {
	const doc = "# head\n<s:a>\n <s:b> 1 ,\n 2 ; <s:c> [\n <s:d> 3 ] .\n<s:e> <s:f> '''\n\n''' .\n<s:g> <s:h> 4 ."
	r, err := rdf.NewReader(strings.NewReader(doc), rdf.Turtle, nil)
	require.NoError(t, err)
	require.Zero(t, r.Line())
	var lines []int
	for _, err := range r.All() {
		require.NoError(t, err)
		lines = append(lines, r.Line())
	}
	require.Equal(t, []int{2, 2, 4, 2, 6, 9}, lines)
}

func TestReader_keepsDeclarations(t *testing.T) {
	const doc = "@prefix b: <s:1> . PREFIX a: <s:2> @prefix b: <s:3> . @base <http://h/x/> . BASE <y> <> a: b: ."
	r, err := rdf.NewReader(strings.NewReader(doc), rdf.Turtle, &rdf.ReaderOptions{Base: ex})
	require.NoError(t, err)
	require.Equal(t, ex, r.Base())
	q, err := r.Read()
	require.NoError(t, err)
	require.Equal(t, "http://h/x/y", q.Subject.Value)
	require.Equal(t, "http://h/x/y", r.Base())
	require.Equal(t, []rdf.Prefix{{Name: "b", IRI: "s:3"}, {Name: "a", IRI: "s:2"}}, r.Prefixes())
	_, err = r.Read()
	require.Equal(t, io.EOF, err)
}

func TestReader_generatesLabelsThatTheDocumentDoesNotUse(t *testing.T) {
	const doc = "_:anon1 <s:p> [] . _:anon_1 <s:p> [] . _:anon_anon1 <s:p> () . _:b <s:p> (1) ."
	quads, err := read([]byte(doc), rdf.Turtle, "")
	require.NoError(t, err)
	labels := map[string]bool{}
	for _, q := range quads {
		for _, term := range []rdf.Term{q.Subject, q.Object} {
			if term.Kind == rdf.Blank {
				labels[term.Value] = true
				require.True(t, rdf.ValidLabel([]byte(term.Value)))
			}
		}
	}
	require.Len(t, labels, 7)
	again, err := read([]byte(doc), rdf.Turtle, "")
	require.NoError(t, err)
	require.Equal(t, quads, again, "the same labels every time")
}

func TestReader_keepsTheLabelsOfLineFormats(t *testing.T) {
	quads, err := read([]byte("_:anon1 <s:p> _:b .\n"), rdf.NQuads, "")
	require.NoError(t, err)
	require.Equal(t, "anon1", quads[0].Subject.Value)
}

func TestReader_skipsAByteOrderMark(t *testing.T) {
	quads, err := read([]byte("\uFEFF<s:a> <s:b> <s:c> ."), rdf.Turtle, "")
	require.NoError(t, err)
	require.Len(t, quads, 1)
}

func TestReader_returnsTheStatementsBeforeAMistake(t *testing.T) {
	r, err := rdf.NewReader(strings.NewReader("<s:a> <s:b> 1, 2, oops"), rdf.Turtle, nil)
	require.NoError(t, err)
	for range 2 {
		_, err = r.Read()
		require.NoError(t, err)
	}
	_, first := r.Read()
	require.Error(t, first)
	_, second := r.Read()
	require.Equal(t, first, second, "the error stays")
}

// readable returns the formats that a Reader supports.
func readable() []rdf.Format {
	return slices.DeleteFunc(rdf.Formats(), func(f rdf.Format) bool { return !f.Syntax().Readable })
}

func TestReader_returnsTheErrorOfTheSource(t *testing.T) {
	broken := errors.New("cable cut")
	for _, f := range readable() {
		for _, text := range []string{
			"", "<s:a> ", "<s:a> <s:", "<s:a> <s:b> \"x", "<s:a> <s:b> <s:c> ", "<s:a> <s:b> <s:c> .", "# comment",
		} {
			_, err := readFrom(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), f, "")
			require.ErrorIs(t, err, broken, "%s %q", f, text)
		}
	}
}

func TestReader_refusesATruncatedToken(t *testing.T) {
	broken := errors.New("cable cut")
	for _, f := range readable() {
		for _, text := range []string{
			"12", "12.5", "12e1", "\"x\"", "\"x\"@en", "\"x\"^^", "_:b", "p:name", "p:", "tru", "true",
		} {
			quads, err := readFrom(io.MultiReader(strings.NewReader("<s:a> <s:b> "+text), iotest.ErrReader(broken)), f, "")
			require.Error(t, err, "%s %q", f, text)
			require.Empty(t, quads, "%s %q", f, text)
			quads, err = readFrom(io.MultiReader(strings.NewReader("@prefix p: <s:> . <s:a> <s:b> "+text),
				iotest.ErrReader(broken)), f, "")
			require.Error(t, err, "%s %q", f, text)
			require.Empty(t, quads, "%s %q", f, text)
		}
	}
}

func TestReader_stopsAtASourceWithoutProgress(t *testing.T) {
	_, err := readFrom(silent{}, rdf.Turtle, "")
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestNewReader_refusesWrongOptions(t *testing.T) {
	for _, c := range []struct {
		format rdf.Format
		opts   rdf.ReaderOptions
		want   string
	}{
		{rdf.JSONLD, rdf.ReaderOptions{}, "jsonld"},
		{rdf.Turtle, rdf.ReaderOptions{Base: "x/y"}, `"x/y"`},
		{rdf.Turtle, rdf.ReaderOptions{MaxDepth: -1}, "MaxDepth -1"},
	} {
		_, err := rdf.NewReader(strings.NewReader(""), c.format, &c.opts)
		require.ErrorContains(t, err, c.want)
	}
}

func TestReader_separatesAdjacentTokens(t *testing.T) {
	_, err := read([]byte("@prefix:<s:>. :a:b:c ."), rdf.Turtle, "")
	require.ErrorContains(t, err, "a predicate", ":a:b:c is one name")
	_, err = read([]byte("@prefix:<s:>. :a :b 1.,2 ."), rdf.Turtle, "")
	require.ErrorContains(t, err, "a subject", "the point behind 1 ends the statement")
	const doc = "@prefix:<s:>.@prefix a.b:<s:>. :a :b :c,2.5.:d a :e;:f .5e1,1 . a.b:x a.b:y a.b:z .:a " +
		":b'x'@en,\"y\"^^:t,1.:q :r -.5 ."
	quads, err := read([]byte(doc), rdf.Turtle, "")
	require.NoError(t, err)
	const want = `<s:a> <s:b> <s:c> .
<s:a> <s:b> "2.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<s:d> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <s:e> .
<s:d> <s:f> ".5e1"^^<http://www.w3.org/2001/XMLSchema#double> .
<s:d> <s:f> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<s:x> <s:y> <s:z> .
<s:a> <s:b> "x"@en .
<s:a> <s:b> "y"^^<s:t> .
<s:a> <s:b> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<s:q> <s:r> "-.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
`
	expected, err := read([]byte(want), rdf.NTriples, "")
	require.NoError(t, err)
	require.Empty(t, rdftest.Diff(quads, expected))
}
