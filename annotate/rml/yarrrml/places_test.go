package yarrrml_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
)

// loaded reads a document with a prefix.
func loaded(t *testing.T, text string) *rml.Mapping {
	t.Helper()
	m, err := yarrrml.Load([]byte("prefixes: {ex: 'http://ex.org/'}\n"+text), nil)
	require.NoError(t, err)
	return m
}

// graph maps the files of a folder and returns the lines of N-Quads.
func graph(t *testing.T, m *rml.Mapping, files map[string]string) []string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	quads, err := overFiles(folder, rml.Options{})(m)
	require.NoError(t, err)
	lines := make([]string, len(quads))
	for i, q := range quads {
		terms := []rdf.Term{q.Subject, q.Predicate, q.Object}
		if q.Graph != (rdf.Term{}) {
			terms = append(terms, q.Graph)
		}
		for j, term := range terms {
			if j > 0 {
				lines[i] += " "
			}
			lines[i] += string(rdf.AppendTerm(nil, term))
		}
		lines[i] = strings.ReplaceAll(lines[i], "http://ex.org/", "")
	}
	slices.Sort(lines)
	return slices.Compact(lines) // a graph is a set
}

// Section 7 of the specification, with example 16: the URL of a database is that of JDBC.
func TestLoad_readsDatabases(t *testing.T) {
	for _, c := range []struct {
		source string
		want   rml.Source
	}{
		{"{access: 'http://localhost/example', type: mysql, credentials: {username: root, password: secret}, " +
			"queryFormulation: sql2008, query: SELECT 1, referenceFormulation: csv}",
			rml.Source{Query: "SELECT 1", Database: rml.Database{URL: "jdbc:mysql://localhost/example", Username: "root", Password: "secret"}}},
		{"{access: 'localhost:5432/db', type: postgresql, query: SELECT 1}",
			rml.Source{Query: "SELECT 1", Database: rml.Database{URL: "jdbc:postgresql://localhost:5432/db"}}},
		{"{access: 'jdbc:oracle:thin:@h:1521/x', type: oracle, queryFormulation: oracle, query: SELECT 1}",
			rml.Source{Query: "SELECT 1", Database: rml.Database{URL: "jdbc:oracle:thin:@h:1521/x"}}},
		{"{access: 'h/db', type: mssqlserver, table: t}",
			rml.Source{Name: "t", Database: rml.Database{URL: "jdbc:sqlserver://h/db"}}},
		{"{access: data/test.db, type: sqlite, table: t}",
			rml.Source{Name: "t", Database: rml.Database{URL: "jdbc:sqlite:data/test.db"}}},
		{"{query: SELECT 1, queryFormulation: mysql}", rml.Source{Query: "SELECT 1"}}, // R2RML names no database
		{"{table: t}", rml.Source{Name: "t"}},
	} {
		m := loaded(t, "mappings: {m: {sources: ["+c.source+"], s: 'ex:$(id)', po: [[ex:p, $(v)]]}}")
		c.want.Kind = rml.SourceDatabase
		c.want.Formulation = rml.SQL
		require.Equal(t, []rml.Source{c.want}, m.Sources(), c.source)
		_, err := rml.Compile(m, nil)
		require.NoError(t, err, c.source)
	}
}

func TestLoad_refusesSourcesThatSayTooLittleOrTooMuch(t *testing.T) {
	for _, c := range [][2]string{
		{"{access: h/db, type: mysql}", "names no rows of the database"},
		{"{access: h/db, type: mysql, table: t, query: SELECT 1}", "expected one of table and query"},
		{"{access: h/db, type: mysql, table: t, delimiter: ;}", "has no delimiter"},
		{"{access: a.csv, referenceFormulation: csv, query: SELECT 1}", "has no query"},
		{"{access: a.csv, referenceFormulation: csv, table: t}", "without a database"},
		{"{access: a.csv, referenceFormulation: csv, queryFormulation: sql2008}", "does not belong to this source"},
		{"{access: a.csv, referenceFormulation: csv, credentials: {username: u}}", "takes no credentials"},
		{"{access: h/db, type: mysql, table: t, queryFormulation: sql2016}", "has no identifier in R2RML"},
		{"{access: h/db, type: mysql, table: t, queryFormulation: sparql11}", "expected sparql11 for the type sparql"},
		{"{access: h/db, type: mysql, table: t, queryFormulation: cypher}", `"cypher" is not known`},
		{"{table: t, iterator: $}", "has no iterator"},
		{"{access: a.csv, type: hologram, referenceFormulation: csv}", `the type "hologram" is not known`},
		{"{access: a.csv, referenceFormulation: toml}", `"toml" is not known`},
		{"{access: a.csv, referenceFormulation: csv, encoding: latin-1}", "the encoding LATIN-1 is not known"},
		{"{access: a.csv, referenceFormulation: csv, encoding: utf-16, delimiter: ;}", "expected no other encoding"},
		{"{access: a.csv, referenceFormulation: csv, contentType: text/csv}", "its key contentType is not known"},
		{"{access: 'http://h/s', type: sparql, queryFormulation: sql2008, query: x, referenceFormulation: jsonpath}",
			"does not belong to this source"},
	} {
		source, want := c[0], c[1]
		_, err := yarrrml.Load([]byte("prefixes: {ex: 'http://ex.org/'}\nmappings:\n  m:\n    s: ex:s\n    sources:\n    - "+source), nil)
		var wrong *rml.MappingError
		require.ErrorAs(t, err, &wrong, source)
		require.ErrorContains(t, err, want, source)
		require.Equal(t, 6, wrong.Line, source)
	}
}

// A SPARQL endpoint is read, as RML; whether the engine can query it is another matter.
func TestRead_readsSPARQLEndpoints(t *testing.T) {
	d, err := yarrrml.Read([]byte("mappings: {m: {s: 'http://s', sources: [{access: 'http://h/sparql', type: sparql, "+
		"queryFormulation: sparql11, query: 'SELECT * {?s ?p ?o}', iterator: '$.results.bindings[*]', referenceFormulation: jsonpath}]}}"), nil)
	require.NoError(t, err)
	said := string(yarrrml.WriteRML(d))
	for _, want := range []string{"<http://www.w3.org/ns/sparql-service-description#endpoint> <http://h/sparql>",
		"<http://www.w3.org/ns/sparql-service-description#SPARQL11Query>", "<http://www.w3.org/ns/formats/SPARQL_Results_JSON>",
		`rml:query "SELECT * {?s ?p ?o}"`, "rml:referenceFormulation ql:JSONPath"} {
		require.Contains(t, said, want)
	}
}

func TestLoad_readsFilesWithDelimiterAndEncoding(t *testing.T) {
	m := loaded(t, "mappings: {m: {s: 'ex:$(id)', po: [[ex:p, $(v)]], "+
		"sources: [{access: a.csv, referenceFormulation: csv, delimiter: ;}]}}")
	require.Equal(t, []string{`<1> <p> "a,b"`}, graph(t, m, map[string]string{"a.csv": "id;v\n1;a,b\n"}))

	wide := []byte{0xff, 0xfe}
	for _, c := range []byte("id,v\n1,\n2,x\n") {
		wide = append(wide, c, 0)
	}
	m = loaded(t, "mappings: {m: {s: 'ex:$(id)', po: [[ex:p, $(v)]], "+
		"sources: [{access: a.csv, referenceFormulation: csv, encoding: utf-16}]}}")
	require.Equal(t, []string{`<2> <p> "x"`}, graph(t, m, map[string]string{"a.csv": string(wide)}))

	m = loaded(t, "mappings: {m: {s: 'ex:$(id)', po: [[ex:p, $(v)]], "+
		"sources: [{access: a.csv, type: localfile, referenceFormulation: csv, encoding: UTF-8}]}}")
	require.Equal(t, []string{`<1> <p> "é"`}, graph(t, m, map[string]string{"a.csv": "id,v\n1,é\n"}))
}

// Sections 9.1 and 9.3: a mapping is applied to each of its sources, and generates each of its subjects.
func TestLoad_appliesAMappingToAllSourcesAndSubjects(t *testing.T) {
	m := loaded(t, `sources:
  one: {access: one.json, referenceFormulation: jsonpath, iterator: $}
  alias: &two [two.csv~csv]
mappings:
  m:
    sources: [one, alias, *two, [one.json~jsonpath, $]]
    subjects: ['ex:$(id)', 'ex:x$(id)']
    po: [[ex:p, $(v)]]
`)
	require.Len(t, m.Sources(), 2)
	require.ElementsMatch(t, []string{`<1> <p> "a"`, `<x1> <p> "a"`, `<2> <p> "b"`, `<x2> <p> "b"`},
		graph(t, m, map[string]string{"one.json": `{"id": 1, "v": "a"}`, "two.csv": "id,v\n2,b\n"}))
}

// A reference to a mapping with several triples maps is one to each of them.
func TestLoad_refersToAllSubjectsOfAMapping(t *testing.T) {
	m := loaded(t, `mappings:
  m:
    sources: [[a.csv~csv]]
    s: ex:$(id)
    po:
    - p: ex:p
      o: {mapping: n, condition: {function: equal, parameters: [[str2, $(id), o], [str1, $(v), s]]}}
  n:
    sources: [[b.csv~csv]]
    s: ['ex:b$(id)', 'ex:c$(id)']
`)
	require.ElementsMatch(t, []string{`<1> <p> <b7>`, `<1> <p> <c7>`},
		graph(t, m, map[string]string{"a.csv": "id,v\n1,7\n", "b.csv": "id\n7\n8\n"}))
}

// Section 3: relative IRIs begin with the base.
func TestLoad_resolvesRelativeIRIs(t *testing.T) {
	m := loaded(t, `base: http://base.org/
mappings:
  m:
    sources: [[a.csv~csv]]
    s: thing/$(id)
    po: [[p, o~iri], {p: ex:q, o: 'o/$(id)~iri', i: ex:r}]
`)
	require.ElementsMatch(t, []string{
		`<http://base.org/thing/1> <http://base.org/p> <http://base.org/o>`,
		`<http://base.org/thing/1> <q> <http://base.org/o/1>`,
		`<http://base.org/o/1> <r> <http://base.org/thing/1>`,
	}, graph(t, m, map[string]string{"a.csv": "id\n1\n"}))
}

// Section 9.4: an inverse predicate is for objects that are IRIs or blank nodes, those of functions too.
func TestLoad_readsInversePredicates(t *testing.T) {
	const function = "{function: 'grel:toUpperCase', parameters: [[grel:valueParameter, $(u)]], type: iri}"
	m := loaded(t, "mappings: {m: {sources: [[a.csv~csv]], s: 'ex:$(id)', po: [{p: ex:p, i: [ex:q, ex:r], o: "+function+"}]}}")
	require.ElementsMatch(t, []string{"<1> <p> <HTTP://U/>", "<HTTP://U/> <q> <1>", "<HTTP://U/> <r> <1>"},
		graph(t, m, map[string]string{"a.csv": "id,u\n1,http://u/\n"}))
	m = loaded(t, "mappings: {m: {sources: [[a.csv~csv]], s: {function: 'grel:toUpperCase', parameters: [[grel:valueParameter, $(u)]]}, "+
		"po: [{p: ex:p, i: ex:q, o: 'ex:$(id)~iri'}]}}")
	require.ElementsMatch(t, []string{"<HTTP://U/> <p> <1>", "<1> <q> <HTTP://U/>"},
		graph(t, m, map[string]string{"a.csv": "id,u\n1,http://u/\n"}))
	for po, want := range map[string]string{
		"{p: ex:p, i: ex:q, o: $(id)}":              "needs an object that is an IRI or a blank node",
		"{p: ex:p, i: ex:q, o: {mapping: m}}":       "cannot be expressed in RML",
		"{p: ex:p, i: [[ex:q]], o: 'ex:$(id)~iri'}": "it is a list",
	} {
		_, err := yarrrml.Load([]byte("prefixes: {ex: 'http://ex.org/'}\nmappings: {m: {sources: [[a.csv~csv]], s: ex:s, po: ["+po+"]}}"), nil)
		require.ErrorContains(t, err, want)
	}
}

// Section 8, with examples 39 to 51.
func TestLoad_readsTargets(t *testing.T) {
	for targets, want := range map[string][]rml.Target{
		"{access: data/dump.ttl.gz, type: void, serialization: turtle, compression: gzip}": {
			{Name: "data/dump.ttl.gz", WorkingDirectory: true, Format: rdf.Turtle, Compression: rml.Gzip}},
		"[data/dump.ttl.gz~void, turtle, gzip]": {
			{Name: "data/dump.ttl.gz", WorkingDirectory: true, Format: rdf.Turtle, Compression: rml.Gzip}},
		"[[a.nq~void], [b.nq~dcat, trig]]": {
			{Name: "a.nq", WorkingDirectory: true, Format: rdf.NQuads}, {Name: "b.nq", WorkingDirectory: true, Format: rdf.TriG}},
		"[named, {access: c.nq}]": {
			{Name: "n.rdf", WorkingDirectory: true, Format: rdf.RDFXML}, {Name: "c.nq", WorkingDirectory: true, Format: rdf.NQuads}},
		"named": {{Name: "n.rdf", WorkingDirectory: true, Format: rdf.RDFXML}},
	} {
		m := loaded(t, "targets: {named: {access: n.rdf, type: void, serialization: rdfxml}}\n"+
			"mappings: {m: {sources: [[a.csv~csv]], s: {value: 'ex:$(id)', targets: "+targets+"}, po: [[ex:p, 1]]}}")
		plan, err := rml.Compile(m, nil)
		require.NoError(t, err)
		require.Equal(t, want, plan.Targets(), targets)
	}
	for targets, want := range map[string]string{
		"{access: 'http://h/sparql', type: sparql}": `the type "sparql" of a target is not supported`,
		"absent":                       `the target "absent" is not in the document`,
		"[a.nq~void, owlxml]":          `the serialization "owlxml" is not known`,
		"[a.nq~void, turtle, gzip, x]": "it has 4 parts",
	} {
		_, err := yarrrml.Load([]byte("mappings: {m: {sources: [[a.csv~csv]], s: {value: 'http://s', targets: "+targets+"}}}"), nil)
		require.ErrorContains(t, err, want, targets)
	}
}

// Section 5: authors as objects, as text, and by their WebID.
func TestRead_readsWebIDs(t *testing.T) {
	d, err := yarrrml.Read([]byte("authors: [{name: Ann, email: a@b.c}, 'http://jane.example/#me', 'Jo (https://jo.example)']\n"+header), nil)
	require.NoError(t, err)
	text, leftOut, err := yarrrml.Write(d)
	require.NoError(t, err)
	require.Empty(t, leftOut)
	require.Contains(t, string(text), "authors:\n  - name: Ann\n    email: a@b.c\n  - http://jane.example/#me\n"+
		"  - name: Jo\n    website: https://jo.example\n")
}

// Section 4: the prefixes of RDFa need no declaration, and can be declared otherwise.
func TestLoad_knowsThePrefixesOfRDFa(t *testing.T) {
	m := loaded(t, "mappings: {m: {sources: [[a.csv~csv]], s: ex:s, po: [[dc:title, a], [sosa:p, b], [vcard:p, c]]}}")
	require.ElementsMatch(t, []string{`<s> <http://purl.org/dc/terms/title> "a"`, `<s> <http://www.w3.org/ns/sosa/p> "b"`,
		`<s> <http://www.w3.org/2006/vcard/ns#p> "c"`}, graph(t, m, map[string]string{"a.csv": "id\n1\n"}))
}
