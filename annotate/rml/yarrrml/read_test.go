package yarrrml_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
)

const header = "prefixes: {ex: 'http://ex.org/'}\nmappings:\n  m:\n    sources: [['~jsonpath', '$']]\n"

// mapped maps a message with a mapping after the header.
func mapped(t *testing.T, mapping, message string) string {
	t.Helper()
	m, err := yarrrml.Load([]byte(header+mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(m, &rml.Options{Format: rdf.NQuads})
	require.NoError(t, err)
	out, err := plan.NewMapper().Append(nil, []byte(message))
	require.NoError(t, err)
	return string(out)
}

func TestLoad_readsTheNotation(t *testing.T) {
	const message = `{"id":"1","n":"Ann","l":"en","u":"http://u/x","list":["a","b"]}`
	const s, grel = "<http://ex.org/1> ", "grel:valueParameter"
	for _, c := range [][2]string{
		{"    s: ex:$(id)\n    po: [[ex:p, $(n)]]", s + `<http://ex.org/p> "Ann" .`},
		{"    s: ex:$(id)\n    po: [[ex:p, $(n), $(l)~lang]]", s + `<http://ex.org/p> "Ann"@en .`},
		{"    s: ex:$(id)\n    po: [[ex:p, $(n), ex:d]]", s + `<http://ex.org/p> "Ann"^^<http://ex.org/d> .`},
		{"    s: ex:$(id)\n    po: [[ex:p, $(u)~iri]]", s + `<http://ex.org/p> <http://u/x> .`},
		{"    s: ex:$(id)\n    po: [[ex:p, 'a \\$(n) {b}']]", s + `<http://ex.org/p> "a $(n) {b}" .`},
		{"    s: ex:$(id)\n    po: [[ex:p, '{$(n)}\\d']]", s + `<http://ex.org/p> "{Ann}\\d" .`},
		{"    s: ex:$(id)\n    g: ex:g\n    po: [[ex:p, 1]]", s + `<http://ex.org/p> "1" <http://ex.org/g> .`},
		{"    s: ex:$(id)\n    po: [{p: ex:p, o: {value: $(n), datatype: 'ex:$(l)'}}]", s + `<http://ex.org/p> "Ann"^^<http://ex.org/en> .`},
		{"    s: ex:$(id)\n    po: [{p: ex:p, o: {fn: 'grel:toUpperCase(grel:valueParameter = $(n))'}}]", s + `<http://ex.org/p> "ANN" .`},
		{"    s: ex:$(id)\n    po: [{p: ex:p, o: {fn: 'grel:toUpperCase(valueParameter = $(n))'}}]", s + `<http://ex.org/p> "ANN" .`},
		{"    s: ex:$(id)\n    po: [{p: ex:p, o: {f: grel:toUpperCase, pms: [{pm: " + grel + ", v: $(n)}]}}]", s + `<http://ex.org/p> "ANN" .`},
		{"    s: ex:$(id)\n    po: [{p: ex:p, o: {value: $(u), type: iri}, i: ex:q, g: ex:g}]",
			s + "<http://ex.org/p> <http://u/x> <http://ex.org/g> .\n" +
				"<http://u/x> <http://ex.org/q> <http://ex.org/1> ."},
		{"    s: ex:$(id)\n    po: &a\n    - [ex:p, $(n)]\n" +
			"  k:\n    sources: [['~jsonpath', '$']]\n    s: ex:k\n    po: *a", s +
			"<http://ex.org/p> \"Ann\" .\n<http://ex.org/k> <http://ex.org/p> \"Ann\" ."},
		{"    s: ex:$(id)\n    po:\n    - p: ex:p\n      o:\n      - mapping: k\n" +
			"        condition: {function: equal, parameters: [[str1, $(id)], [str2, $(id)]]}\n" +
			"  k:\n    sources: [['~jsonpath', '$']]\n    s: ex:k$(id)", s + "<http://ex.org/p> <http://ex.org/k1> ."},
	} {
		require.Equal(t, c[1]+"\n", mapped(t, c[0], message), c[0])
	}
}

func TestLoad_namesThePlaceOfAnError(t *testing.T) {
	bomb := "    po:\n    - {o: 1, p: &p [" + strings.Repeat("ex:p, ", 2000) + "ex:p]}\n" +
		strings.Repeat("    - {o: 1, p: *p}\n", 100)
	for name, c := range map[string]struct {
		text         string
		line, column int
		want         string
	}{
		"empty":           {"", 0, 0, "it is empty"},
		"not YAML":        {"a: [", 1, 0, "not valid YAML"},
		"key":             {"mapings: {}", 1, 1, "its key mapings is not known here"},
		"twice":           {"base: http://a\nbase: http://b", 2, 1, "written twice"},
		"no source":       {"mappings:\n  m:\n    s: a", 2, 3, "it has no source"},
		"no object":       {header + "    po:\n    - [ex:p]", 6, 7, "mappings.m.po[0]: it has 1 parts"},
		"reference":       {header + "    s: ex:$(id", 5, 8, "does not end"},
		"predicate":       {header + "    s: ex:a\n    po:\n    - [p, 1]", 7, 8, `"p" is not an IRI`},
		"mapping":         {header + "    po:\n    - {p: ex:p, o: {mapping: x}}", 6, 30, `the mapping "x" is not in the document`},
		"function":        {header + "    po:\n    - {p: ex:p, o: {function: ex:no}}", 6, 0, "is not known"},
		"aliases":         {header + bomb, 6, 0, "more than 200000 values"},
		"itself":          {header + "    po: &a [*a]", 5, 0, ""},
		"brackets":        {"a: " + strings.Repeat("[", 1000), 1, 0, "nested more than 200 deep"},
		"second document": {header + "    po: []\n---\nx: 1", 6, 0, "a second YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := yarrrml.Load([]byte(c.text), nil)
			if err == nil {
				_, err = rml.Compile(m, nil)
			}
			var wrong *rml.MappingError
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, c.line, wrong.Line, err)
			if c.column > 0 {
				require.Equal(t, c.column, wrong.Column, err)
			}
		})
	}
}

func TestRead_keepsTheAuthors(t *testing.T) {
	d, err := yarrrml.Read([]byte("authors: ['Ann <a@b.c> (http://a)']\n"+header), nil)
	require.NoError(t, err)
	var objects []string
	for _, s := range d.Statements {
		objects = append(objects, s.Object.Value)
	}
	require.Subset(t, objects, []string{"Ann", "mailto:a@b.c", "http://a"})
}

func FuzzRead(f *testing.F) {
	f.Add(header + "    s: ex:$(id)\n    po:\n    - [a, ex:A]\n    - p: ex:p\n      o: {fn: 'grel:toUpperCase(valueParameter = $(n))'}\n")
	f.Add(header + "    s: [$((a\\)), b]\n    po: &a [*a, {p: a, o: {mapping: m, condition: {function: equal}}}]")
	f.Add("sources: {s: {access: a, type: mysql, delimiter: ';'}}\ntargets: {t: [a~void, turtle]}\nmappings: {m: {source: s, <<: {s: x}}}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			t.Skip("longer than what the fuzzer is for")
		}
		d, err := yarrrml.Read([]byte(text), nil)
		if err != nil {
			var wrong *rml.MappingError
			require.ErrorAs(t, err, &wrong)
			return
		}
		_, _ = rml.LoadStatements(d.Statements, d.Prefixes, nil)
	})
}
