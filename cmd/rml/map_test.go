package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/internal/cli"
)

const datedMapping = header + `ex:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$.list" ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:until ; rr:objectMap [
    rml:reference "until" ; rr:datatype <http://www.w3.org/2001/XMLSchema#dateTime> ] ] ;
  rr:predicateObjectMap [ rr:predicate ex:page ; rr:objectMap [ rml:reference "page" ; rr:termType rr:IRI ] ] .
`

func TestRunMap_notesOnStandardError(t *testing.T) {
	file := write(t, "m.ttl", datedMapping)
	for name, c := range map[string]struct {
		stdin      string
		flags      []string
		statements int
		want       string
	}{
		"all is well": {`{"list":[{"id":1,"until":"2022-05-01T00:00:00Z"}]}`, nil, 1, ""},
		"ill-typed": {`{"list":[{"id":1,"until":"2022-05-01"}]}`, nil, 1,
			"rml: note: one literal with a text that the datatype does not have; the text is given out as it is\n" +
				"rml: note: object map of predicate-object map of triples map ex:M (mapping line 9): 1 of them, such as \"2022-05-01\" " +
				"at /list/0/until, which xsd:dateTime does not have\n"},
		"nothing selected": {`{"items":[]}`, nil, 0,
			"rml: note: triples map ex:M (mapping line 6): its iterator \"$.list\" selects no record\n"},
		"nothing in the lines": {`{"items":[]}`, []string{"-stream", "ndjson"}, 0,
			"rml: note: triples map ex:M (mapping line 6): its iterator \"$.list\" selects no record\n"},
		"nothing of a record": {`{"list":[{"id":1}]}`, nil, 0, "rml: note: no statements from one record\n"},
		"two ill-typed": {`{"list":[{"id":1,"until":"2022"},{"id":2,"until":"2022"}]}`, nil, 2,
			"rml: note: 2 literals with a text that the datatype does not have; the text is given out as it is\n" +
				"rml: note: object map of predicate-object map of triples map ex:M (mapping line 9): 2 of them, such as \"2022\" " +
				"at /list/0/until, which xsd:dateTime does not have\n"},
		"nothing of records": {`{"list":[{"id":1},{"id":2}]}`, nil, 0, "rml: note: no statements from 2 records\n"},
		"left out": {`{"list":[{"id":1,"page":"http://b c"},{"id":2,"page":"http://b"}]}`, nil, 1,
			"rml: note: one term could not be generated; statements with such a term are left out (-strict treats that as an error)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, notes, err := rmlNotes(t, c.stdin, append([]string{"map", "-mapping", file}, c.flags...)...)
			require.NoError(t, err)
			require.Equal(t, c.statements, strings.Count(out, "\n"))
			require.Equal(t, c.want, notes)
		})
	}
}

func TestRunMap_notesIrregularRows(t *testing.T) {
	file := write(t, "m.ttl", header+`ex:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .
`)
	const message = "id,v\n1,a\n2\n#3,c\n4,d,e\n5,f,g\n"
	out, notes, err := rmlNotes(t, message, "map", "-dialect", "carml", "-mapping", file)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(out, "\n"))
	require.Equal(t, "rml: note: 2 rows of CSV with more cells than the header, which are not read, such as row 3 (line 5), "+
		"with 3 cells where the header has 2\n"+
		"rml: note: one row of CSV with fewer cells than the header, and no value in the other columns, such as row 2 (line 3), "+
		"with one cell where the header has 2\n"+
		"rml: note: one line of CSV with the comment character at the beginning, not read\n", notes)

	_, err = rmlCommand(t, "", "lint", "-dialect", "carml", "-sample", write(t, "sample.csv", message), file)
	require.ErrorContains(t, err, "2 findings")
	_, _, err = rmlNotes(t, message, "map", "-mapping", file)
	require.ErrorContains(t, err, "the row has 1 cells, expected 2 as in the header")
}

// What fails a message of a channel fails the command with -strict. Without it the
// command follows the legacy test suite, which leaves such statements out.
func TestRunMap_isAsStrictAsAChannel(t *testing.T) {
	out, notes, err := rmlNotes(t, `{"list":[{"id":1,"page":"http://b c"}]}`, "map", "-strict", "-mapping", write(t, "m.ttl", datedMapping))
	require.ErrorContains(t, err, "not a valid IRI")
	require.Empty(t, out)
	require.Empty(t, notes)
}

func TestRunMap_readsYARRRMLByTheNameOfTheFile(t *testing.T) {
	const mapping = "prefixes: {ex: 'http://e/'}\nmappings:\n  m:\n    sources: [['~jsonpath', '$']]\n    s: ex:$(id)\n    po:\n"
	for _, name := range []string{"m.yml", "m.YAML"} {
		out, err := rmlCommand(t, `{"id":1,"v":"x"}`, "map", "-mapping", write(t, name, mapping+"    - [ex:p, $(v)]\n"))
		require.NoError(t, err)
		require.Equal(t, "<http://e/1> <http://e/p> \"x\" .\n", out)
	}
	_, err := rmlCommand(t, "", "lint", write(t, "bad.yml", mapping+"    - [ex:p, $(v]\n"))
	require.ErrorContains(t, err, "mapping line 7 column 14, mappings.m.po[0][1]: ")
}

func TestRun_mapsADatabase(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "sensors.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE sensor (id TEXT, celsius REAL); INSERT INTO sensor VALUES ('a7', 21.5)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	mapping := filepath.Join(folder, "mapping.ttl")
	require.NoError(t, os.WriteFile(mapping, []byte(`@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix ex: <http://example.com/> .
		ex:Sensors rr:logicalTable [ rr:tableName "sensor" ] ; rr:subjectMap [ rr:template "http://example.com/{id}" ] ;
		rr:predicateObjectMap [ rr:predicate ex:celsius ; rr:objectMap [ rr:column "celsius" ] ] .`), 0o600))
	var out, notes bytes.Buffer
	args := []string{"map", "-mapping", mapping}
	err = run(t.Context(), args, nil, &out, &notes)
	require.ErrorContains(t, err, "names no database")
	require.NoError(t, run(t.Context(), append(args, "-database", "sqlite://"+filepath.ToSlash(file)), nil, &out, &notes))
	require.Equal(t, `<http://example.com/a7> <http://example.com/celsius> "2.15E1"^^<http://www.w3.org/2001/XMLSchema#double> .`+"\n",
		out.String())
}

func TestRun_readsInTheDialectOfTheFlag(t *testing.T) {
	file := write(t, "m.ttl", streamMapping)
	const message = `{"id":"a:b","v":"x"}`
	for dialect, subject := range map[string]string{"": "<http://a/a%3Ab>", "rml": "<http://a/a%3Ab>", "carml": "<http://a/a%3ab>"} {
		args := []string{"map", "-mapping", file}
		if dialect != "" {
			args = append(args, "-dialect", dialect)
		}
		out, err := rmlCommand(t, message, args...)
		require.NoError(t, err)
		require.Equal(t, subject+" <http://example.com/ns#p> \"x\" .\n", out, dialect)
	}

	// Jayway's JSONPath has an operator that RFC 9535 does not have.
	file = write(t, "m.ttl", strings.Replace(streamMapping, `rml:reference "v"`, `rml:reference "$.list[?(@.a =~ /x/)].b"`, 1))
	for _, command := range []string{"lint", "explain"} {
		_, err := rmlCommand(t, "", command, file)
		require.Error(t, err, command)
		_, err = rmlCommand(t, "", command, "-dialect", "carml", file)
		require.NoError(t, err, command)
	}

	for _, command := range []string{"map", "lint", "explain"} {
		_, err := rmlCommand(t, "", command, "-dialect", "jena", file)
		require.ErrorContains(t, err, `dialect "jena": expected rml or carml`)
		require.Equal(t, 2, cli.Status(err))
	}
}

func TestRunMap_knowsEveryFormat(t *testing.T) {
	help, err := rmlCommand(t, "", "map", "-h")
	require.NoError(t, err)
	documentation, err := os.ReadFile("../../docs/mapping.md")
	require.NoError(t, err)
	names := rdf.FormatNames(nil)
	require.Contains(t, help, names)
	synopsis := "[-format " + strings.ReplaceAll(names, ", ", "|") + "]"
	require.True(t, bytes.Contains(documentation, []byte(synopsis)), "docs/mapping.md: expected %s", synopsis)
	mapping := write(t, "m.ttl", datedMapping)
	for _, format := range rdf.Formats() {
		out, err := rmlCommand(t, `{"list":[{"id":1,"until":"2022-05-01T00:00:00Z"}]}`, "map", "-mapping", mapping, "-format", format.String())
		require.NoError(t, err)
		require.Contains(t, out, "http://a/1", format)
	}
}
