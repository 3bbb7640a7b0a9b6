package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
	"github.com/iotenablers/enablers/annotate/rml/relational/relationaltest"
	"github.com/iotenablers/enablers/annotate/rml/relational/sqlite"
	"github.com/iotenablers/enablers/internal/conformance"
)

// database creates a database with statements and returns its URL.
func database(t *testing.T, statements string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.Exec(statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return "sqlite://" + filepath.ToSlash(file)
}

const prefixes = `@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix ex: <http://example.com/> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix d2rq: <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#> .
`

// compile compiles a mapping.
func compile(t *testing.T, mapping string) *rml.Plan {
	t.Helper()
	loaded, err := rml.Load([]byte(prefixes+mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(loaded, &rml.Options{Format: rdf.NTriples})
	require.NoError(t, err)
	return plan
}

// lines runs a plan over a database and returns its statements.
func lines(t *testing.T, ctx context.Context, plan *rml.Plan, url string) ([]string, error) {
	t.Helper()
	databases := relational.New([]relational.Driver{sqlite.Driver()}, &relational.Options{URL: url})
	defer func() { require.NoError(t, databases.Close()) }()
	var out bytes.Buffer
	err := plan.NewMapper().Run(ctx, &out, rml.Files{Query: databases.Query})
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' }), err
}

const joined = `
ex:Students rr:logicalTable [ rr:tableName "student" ] ; rr:subjectMap [ rr:template "http://example.com/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:does ; rr:objectMap [ rr:parentTriplesMap ex:Sports ;
    rr:joinCondition [ rr:child "sport" ; rr:parent "id" ] ] ] .
ex:Sports rr:logicalTable [ rr:sqlQuery "SELECT id, name FROM sport;" ] ; rr:subjectMap [ rr:template "http://example.com/s/{name}" ] .
`

func TestDriver_joinsInTheDatabase(t *testing.T) {
	plan := compile(t, joined)
	require.Contains(t, plan.Explain(), `joined with query "SELECT id, name FROM sport;" by the database`)
	require.NotContains(t, plan.Explain(), "hash index")
	url := database(t, `CREATE TABLE student (id INTEGER, sport TEXT); CREATE TABLE sport (id INTEGER, name TEXT);
		INSERT INTO student VALUES (1, '7'), (2, '8'), (3, NULL); INSERT INTO sport VALUES (7, 'chess'), (8, 'go'), (9, 'shogi');`)
	got, err := lines(t, t.Context(), plan, url)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"<http://example.com/1> <http://example.com/does> <http://example.com/s/chess> .",
		"<http://example.com/2> <http://example.com/does> <http://example.com/s/go> .",
	}, got, "a text and a number join by their text")
}

func TestDriver_writesNaturalForms(t *testing.T) {
	plan := compile(t, `ex:M rr:logicalTable [ rr:tableName "v" ] ; rr:subject ex:s ;
		rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:column "\"A b\"" ], [ rr:column "D" ], [ rr:column "t" ],
		  [ rr:column "n" ], [ rr:column "x" ], [ rr:column "f" ], [ rr:column "nothing" ] ] .`)
	url := database(t, `CREATE TABLE v ("A b" BOOLEAN, d DATE, t TIMESTAMP, n DECIMAL(10,2), x BLOB, f REAL, "nothing" TEXT);
		INSERT INTO v VALUES (1, '2024-03-07', '2024-03-07 12:30:00', 2.5, X'0aff', 12.5, NULL);`)
	got, err := lines(t, t.Context(), plan, url)
	require.NoError(t, err)
	var want []string
	for _, v := range []string{`"true"^^B#boolean`, `"2024-03-07"^^B#date`, `"2024-03-07T12:30:00"^^B#dateTime`, `"2.5"^^B#decimal`,
		`"0AFF"^^B#hexBinary`, `"1.25E1"^^B#double`} {
		text, datatype, _ := strings.Cut(v, "^^B")
		want = append(want, "<http://example.com/s> <http://example.com/p> "+text+"^^<http://www.w3.org/2001/XMLSchema"+datatype+"> .")
	}
	require.ElementsMatch(t, want, got)
}

func TestDriver_readsPieceByPiece(t *testing.T) {
	const rows = 5000
	plan := compile(t, `ex:M rr:logicalTable [ rr:tableName "n" ] ;
		rr:subjectMap [ rr:template "http://example.com/{i}" ; rr:class ex:C ] .`)
	url := database(t, fmt.Sprintf(`CREATE TABLE n (i INTEGER);
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < %d) INSERT INTO n SELECT i FROM c;`, rows))
	got, err := lines(t, t.Context(), plan, url)
	require.NoError(t, err)
	require.Len(t, got, rows)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = lines(t, ended, plan, url)
	require.ErrorIs(t, err, context.Canceled)
}

func TestDriver_onlyReads(t *testing.T) {
	plan := compile(t, `ex:M rr:logicalTable [ rr:sqlQuery "DELETE FROM n RETURNING i" ] ;
		rr:subjectMap [ rr:template "http://example.com/{i}" ;
		rr:class ex:C ] .`)
	url := database(t, `CREATE TABLE n (i INTEGER); INSERT INTO n VALUES (1);`)
	_, err := lines(t, t.Context(), plan, url)
	require.ErrorContains(t, err, "readonly")
	_, err = lines(t, t.Context(), plan, url+".absent")
	require.ErrorContains(t, err, "unable to open database file")
}

func TestDriver_passesTheContract(t *testing.T) {
	url := database(t, "CREATE TABLE t (i INTEGER)")
	relationaltest.Contract{Driver: sqlite.Driver(), URL: url, Execute: func(t *testing.T, statements string) {
		db, err := sql.Open("sqlite", filepath.FromSlash(strings.TrimPrefix(url, "sqlite://")))
		require.NoError(t, err)
		_, err = db.Exec(statements)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}}.Run(t)
}

// TestDriver_passesTheDatabaseCaseOfRMLIO runs RMLSTC0006a, whose table is a
// file of CSV in the suite.
func TestDriver_passesTheDatabaseCaseOfRMLIO(t *testing.T) {
	folder := filepath.Join(conformance.Dir(t, "rml-io"), "RMLSTC0006a")
	file, err := os.Open(filepath.Join(folder, "Friends.csv"))
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	statements := "CREATE TABLE Friends (id INTEGER, name TEXT, age INTEGER);"
	require.Equal(t, []string{"id", "name", "age"}, rows[0])
	for _, row := range rows[1:] {
		statements += fmt.Sprintf("INSERT INTO Friends VALUES (%s, '%s', %s);", row[0], row[1], row[2])
	}
	got, err := relationaltest.Map(t, sqlite.Driver(), folder, database(t, statements))
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join(folder, "default.nq"))
	require.NoError(t, err)
	reader, err := rdf.NewReader(bytes.NewReader(want), rdf.NQuads, nil)
	require.NoError(t, err)
	var wanted []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err)
		wanted = append(wanted, q)
	}
	require.True(t, rdftest.Isomorphic(got, wanted), rdftest.Diff(got, wanted))
}

func TestDriver_passesTheR2RMLSuite(t *testing.T) {
	relationaltest.Suite{
		Name: "r2rml", Kind: "SQLite", Cases: 38, Driver: sqlite.Driver(),
		Untyped: untyped(),
		Refused: map[string]string{
			"R2RMLTC0002c": "the query names a column that is not there; the case of PostgreSQL is refused",
			"R2RMLTC0002g": "the query is no SQL; the case of PostgreSQL is refused",
			"R2RMLTC0002h": "two columns of the query have one name; the case of PostgreSQL is refused",
		},
		Counted: map[string]string{"R2RMLTC0020a": "the table has company.com where the output has example.com/company"},
		Prepare: func(_ *testing.T, folder string) string {
			return "sqlite://" + filepath.ToSlash(folder) + "/resource.db"
		},
	}.Run(t)
}

// untyped are the cases whose output does not have the natural datatypes of
// R2RML, section 10.2, which the same cases of PostgreSQL have.
func untyped() map[string]string {
	const integer, double = "an integer has no datatype", "a double is not in canonical form or has no datatype"
	return map[string]string{
		"R2RMLTC0002a": integer, "R2RMLTC0005a": double, "R2RMLTC0007c": integer, "R2RMLTC0007d": integer, "R2RMLTC0008b": integer,
		"R2RMLTC0009d": integer, "R2RMLTC0012a": double, "R2RMLTC0016b": double,
	}
}
