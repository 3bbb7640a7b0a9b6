package resultset_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/resultset"
)

const friends = `@prefix ex: <http://e/> .
ex:a ex:knows ex:b, ex:c ; ex:name "Ann"@en ; ex:age 33 .
ex:b ex:knows ex:c, ex:b ; ex:name "Bo, \"B\"" .
ex:c ex:name "Cy" ; ex:address [ ex:city "Tallinn" ] .
`

// ask returns the rows of a query over a text, sorted, after the header.
func ask(t *testing.T, query, text string, f rdf.Format) []string {
	t.Helper()
	q, err := resultset.Parse(query)
	require.NoError(t, err)
	results, err := q.Evaluate(t.Context(), strings.NewReader(text), f, 1<<20, false)
	require.NoError(t, err)
	defer results.Close()
	got, err := io.ReadAll(results)
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	slices.Sort(rows[1:])
	return rows
}

func TestQuery_Evaluate_matchesPatterns(t *testing.T) {
	for query, want := range map[string][]string{
		`PREFIX ex: <http://e/> SELECT ?n WHERE { ?p ex:name ?n }`: {`"n"`, `"Ann"`, `"Bo, ""B"""`, `"Cy"`},
		`PREFIX ex: <http://e/> select $p ?q {?p ex:knows ?q . ?q ex:name "Cy".}`: {
			`"p","q"`, `"http://e/a","http://e/c"`, `"http://e/b","http://e/c"`,
		},
		"BASE <http://e/> # base {\nSELECT * { <a> <knows> ?x ; <age> 33 . ?x <name> ?n } # end": {
			`"x","n"`, `"http://e/b","Bo, ""B"""`, `"http://e/c","Cy"`,
		},
		`PREFIX ex: <http://e/> SELECT ?x { ?x ex:knows ?x }`:                 {`"x"`, `"http://e/b"`},
		`PREFIX ex: <http://e/> SELECT ?x ?none { ?x ex:name "Ann"@en }`:      {`"x","none"`, `"http://e/a",`},
		`PREFIX ex: <http://e/> SELECT ?x { ?x ex:name "Ann" }`:               {`"x"`},
		`PREFIX ex: <http://e/> SELECT ?c { ex:c ex:address [ ex:city ?c ] }`: {`"c"`, `"Tallinn"`},
		`PREFIX ex: <http://e/> SELECT ?c { ex:c ?p _:x . _:x ?q ?c }`:        {`"c"`, `"Tallinn"`},
		`PREFIX ex: <http://e/> SELECT DISTINCT ?q { ?p ex:knows ?q }`:        {`"q"`, `"http://e/b"`, `"http://e/c"`},
		`PREFIX ex: <http://e/> SELECT REDUCED ?q { ?p ex:knows ?q }`: {
			`"q"`, `"http://e/b"`, `"http://e/b"`, `"http://e/c"`, `"http://e/c"`,
		},
		`SELECT ?p { ?p <http://e/none> ?q . ?r ?s ?t }`: {`"p"`},
		`SELECT ?p { ?p ?q '''Cy''' }`:                   {`"p"`, `"http://e/c"`},
	} {
		require.Equal(t, want, ask(t, query, friends, rdf.Turtle), query)
	}
}

func TestQuery_Evaluate_readsTheDefaultGraphOnce(t *testing.T) {
	require.Equal(t, []string{`"o"`, `"1"`}, ask(t, `SELECT ?o { ?s ?p ?o }`,
		"<http://a> <http://b> \"1\" .\n<http://a> <http://b> \"1\" .\n<http://a> <http://b> \"2\" <http://g> .\n", rdf.NQuads))
}

func TestQuery_Evaluate_writesJSON(t *testing.T) {
	q, err := resultset.Parse(`PREFIX ex: <http://e/> SELECT ?s ?o ?none { ?s ex:name|x ?o }`)
	require.Error(t, err)
	require.Nil(t, q)
	q, err = resultset.Parse(`PREFIX ex: <http://e/> SELECT ?o ?none { ex:a ?p ?o }`)
	require.NoError(t, err)
	results, err := q.Evaluate(t.Context(), strings.NewReader(friends), rdf.Turtle, 1<<20, true)
	require.NoError(t, err)
	defer results.Close()
	var got struct {
		Head    struct{ Vars []string }
		Results struct {
			Bindings []map[string]map[string]string
		}
	}
	require.NoError(t, json.NewDecoder(results).Decode(&got))
	require.Equal(t, []string{"o", "none"}, got.Head.Vars)
	require.ElementsMatch(t, []map[string]map[string]string{
		{"o": {"type": "uri", "value": "http://e/b"}}, {"o": {"type": "uri", "value": "http://e/c"}},
		{"o": {"type": "literal", "value": "Ann", "xml:lang": "en"}},
		{"o": {"type": "literal", "value": "33", "datatype": rdf.XSDInteger}},
	}, got.Results.Bindings)
}

func TestQuery_Evaluate_endsWithItsContextAndItsLimit(t *testing.T) {
	q, err := resultset.Parse(`SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k "none" }`)
	require.NoError(t, err)
	_, err = q.Evaluate(t.Context(), strings.NewReader(friends), rdf.Turtle, 10, false)
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = q.Evaluate(ctx, strings.NewReader(friends), rdf.Turtle, 1<<20, false)
	require.ErrorIs(t, err, context.Canceled)
}

func TestResults_Read_endsWithTheContext(t *testing.T) {
	q, err := resultset.Parse(`SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }`)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	results, err := q.Evaluate(ctx, strings.NewReader(friends), rdf.Turtle, 1<<20, false)
	require.NoError(t, err)
	defer results.Close()
	_, err = results.Read(make([]byte, 10))
	require.NoError(t, err)
	cancel(errors.New("enough"))
	_, err = io.ReadAll(results)
	require.ErrorIs(t, err, context.Canceled)
}

func TestParse_saysWhatIsNotEvaluated(t *testing.T) {
	for query, want := range map[string]string{
		"":                                                             "expected", // no braces
		"{ ?s ?p ?o }":                                                 "it is not a query",
		"ASK { ?s ?p ?o }":                                             `"ASK" is not evaluated`,
		"CONSTRUCT { ?s ?p ?o }":                                       `"CONSTRUCT" is not evaluated`,
		"SELECT { ?s ?p ?o }":                                          "it selects nothing",
		"SELECT * { <http://a> a <http://b>}":                          "it selects nothing",
		"SELECT (COUNT(*) AS ?n) { ?s ?p ?o }":                         `"(COUNT(*)" is not evaluated`,
		"SELECT ?s FROM <http://g> { ?s ?p ?o }":                       `"FROM" is not evaluated`,
		"SELECT ?s { ?s ?p ?o FILTER(?o > 3) }":                        "FILTER is not evaluated",
		"SELECT ?s { ?s ?p ?o optional { ?s ?q ?r } }":                 "OPTIONAL is not evaluated",
		"SELECT ?s { { ?s ?p ?o } UNION { ?s ?q ?r } }":                "groups of patterns are not evaluated",
		"SELECT ?s { ?s ?p ?o } ORDER BY ?s":                           `"ORDER" is not evaluated`,
		"SELECT ?s { ?s ?p ?o } LIMIT 3":                               `"LIMIT" is not evaluated`,
		"SELECT ?s { ?s <http://a>/<http://b> ?o }":                    "not a basic graph pattern",
		"SELECT ?s { ?s ?p ?o ":                                        "it has no pattern in braces",
		"SELECT ?s { ?s ?p \"x }":                                      "a string has no end",
		"SELECT ?s { ?s <p ?o }":                                       "an IRI has no end",
		"SELECT ?s { ?s ex:p ?o }":                                     "not a basic graph pattern",
		"SELECT ?s { ?s ? ?o }":                                        "begins no variable",
		"SELECT ?s {" + strings.Repeat("?s <http://p> ?o .", 1) + "}}": "groups of patterns",
	} {
		_, err := resultset.Parse(query)
		if query == "" {
			require.Error(t, err)
			continue
		}
		require.ErrorContains(t, err, want, query)
	}
	var long strings.Builder
	for range 65 {
		long.WriteString("?s ?p [] . ")
	}
	_, err := resultset.Parse("SELECT ?s {" + long.String() + "}")
	require.ErrorContains(t, err, "more than 64 triple patterns")
}

func FuzzParse(f *testing.F) {
	f.Add("PREFIX ex: <http://e/> SELECT ?n WHERE { ?p ex:knows [ ex:name ?n ] . # c\n }")
	f.Add("SELECT DISTINCT * { ?a ?b '''x''', \"y\"@en, 3 }")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			t.Skip("a query of more than 1 KiB")
		}
		q, err := resultset.Parse(text)
		if err != nil {
			return
		}
		results, err := q.Evaluate(t.Context(), strings.NewReader(friends), rdf.Turtle, 1<<16, false)
		require.NoError(t, err)
		defer results.Close()
		_, err = io.CopyN(io.Discard, results, 1<<12)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
		}
	})
}
