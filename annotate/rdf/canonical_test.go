package rdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

func ExampleAppendTerm() {
	fmt.Printf("%s\n", rdf.AppendTerm(nil, rdf.NewLang("say \"hello\"", "en")))
	// Output: "say \"hello\""@en
}

func ExampleAppendLiteral() {
	out := rdf.AppendLiteral(nil, []byte("21.5"))
	out = append(out, "^^<http://www.w3.org/2001/XMLSchema#decimal>"...)
	fmt.Printf("%s\n", out)
	// Output: "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>
}

func ExampleParseTerm() {
	term, err := rdf.ParseTerm([]byte(`"1"^^<http://www.w3.org/2001/XMLSchema#integer>`))
	fmt.Println(term.Value, term.Datatype, err)
	// Output: 1 http://www.w3.org/2001/XMLSchema#integer <nil>
}

func TestAppendLiteral_escapesAsTheCanonicalForm(t *testing.T) {
	for lexical, want := range map[string]string{
		"":                 `""`,
		"plain":            `"plain"`,
		"\b\t\n\f\r\"\\":   `"\b\t\n\f\r\"\\"`,
		"\x00\x01\x0B\x1F": `"\u0000\u0001\u000B\u001F"`,
		"\x7F\u0080":       "\"\\u007F\u0080\"",
		"ü€😀":              `"ü€😀"`,
		"\uFFFD\uFFFE":     "\"\uFFFD\\uFFFE\"",
		"\uFFFF":           `"\uFFFF"`,
		"a\xffb\xc3":       "\"a\uFFFDb\uFFFD\"",
		"'":                `"'"`,
	} {
		require.Equal(t, want, string(rdf.AppendLiteral(nil, []byte(lexical))), "%q", lexical)
		require.Equal(t, want, string(rdf.AppendTerm(nil, rdf.NewLiteral(lexical))), "%q", lexical)
	}
}

func TestAppendLiteral_findsEveryByteAtEveryPlace(t *testing.T) {
	for size := range 20 {
		for at := range size {
			for c := range 0x80 {
				text := strings.Repeat("x", at) + string(rune(c)) + strings.Repeat("x", size-at-1)
				out := rdf.AppendLiteral(nil, []byte(text))
				term, err := rdf.ParseTerm(out)
				require.NoError(t, err)
				if term.Value != text {
					require.Equal(t, text, term.Value)
				}
				special := c < 0x20 || c == '"' || c == '\\' || c == 0x7F
				if special != (len(out) > size+2) {
					require.Equal(t, special, len(out) > size+2, "%q", out)
				}
			}
		}
	}
}

func TestAppendTerm_hasOneForm(t *testing.T) {
	for want, term := range map[string]rdf.Term{
		"":                      {},
		"<http://example.org/>": rdf.NewIRI("http://example.org/"),
		"_:b1":                  rdf.NewBlank("b1"),
		`"x"`:                   rdf.NewTyped("x", rdf.XSDString),
		`"1"^^<http://www.w3.org/2001/XMLSchema#integer>`: rdf.NewTyped("1", rdf.XSDInteger),
		`"x"@de-AT`: rdf.NewLang("x", "de-AT"),
	} {
		require.Equal(t, want, string(rdf.AppendTerm(nil, term)))
		if want != "" {
			got, err := rdf.ParseTerm([]byte(want))
			require.NoError(t, err)
			require.Equal(t, term, got)
		}
	}
}

func TestEncoder_Append_escapesAnInvalidIRI(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.NTriples, nil)
	require.NoError(t, err)
	out := e.Append(nil, rdf.Quad{
		Subject: rdf.NewIRI("x:> <y:y> <z:z> .\n<x:x"), Predicate: rdf.NewIRI(ex), Object: rdf.NewIRI(ex),
	})
	require.Equal(t, `<x:\u003E\u0020\u003Cy:y\u003E\u0020\u003Cz:z\u003E\u0020.\u000A\u003Cx:x> `+
		`<http://example.org/> <http://example.org/> .`+"\n", string(out))
	_, err = read(out, rdf.NTriples, "")
	require.Error(t, err)
}

func TestParseTerm_refusesAnythingButOneTerm(t *testing.T) {
	for _, text := range []string{
		"", " <s:a>", "<s:a> ", "<s:a><s:b>", "<a>", "<s:a", "_:", "_:a.", "x", `"x`, `"x"@`, `"x"^<s:d>`, `"x"^^`,
		`"x"^^<d>`, `'x'`, `"x"@en^^<s:d>`, "1", "a",
	} {
		_, err := rdf.ParseTerm([]byte(text))
		require.ErrorContains(t, err, "parse term", text)
		var syntax *rdf.SyntaxError
		require.ErrorAs(t, err, &syntax, text)
	}
}
