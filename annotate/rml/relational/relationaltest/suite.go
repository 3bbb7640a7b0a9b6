package relationaltest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
	"github.com/iotenablers/enablers/internal/conformance"
)

// Suite is a public suite for one kind of database.
type Suite struct {
	// Name is the folder of the suite: "r2rml" or "rml-sql".
	Name string
	// Kind ends the names of its cases: "SQLite", "PostgreSQL" or "MySQL".
	Kind string
	// Cases is the least number of cases that must be there.
	Cases int
	// Driver opens the databases.
	Driver relational.Driver
	// Prepare returns the URL of a database with the tables of a case, whose folder
	// it gets.
	Prepare func(t *testing.T, folder string) string
	// Untyped are the cases whose expected output lacks datatypes, by name without
	// kind, each with what is wrong. Their literals are compared as numbers or texts.
	Untyped map[string]string
	// Counted are the cases whose files contradict each other, with the reason. Only the
	// number of statements is compared.
	Counted map[string]string
	// Refused are the cases that must be refused although they have an output, with the
	// reason.
	Refused map[string]string
}

// Run maps each case and compares the outcome. It skips the test where the
// suite is not.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(conformance.Dir(t, s.Name), "*-"+s.Kind))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(cases), s.Cases, "cases of the suite are missing")
	refused := refusals(t, s.Name)
	for _, folder := range cases {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			short := strings.TrimSuffix(name, "-"+s.Kind)
			got, err := Map(t, s.Driver, folder, s.Prepare(t, folder))
			want, missing := os.ReadFile(filepath.Join(folder, "output.nq"))
			if refused[name] || s.Refused[short] != "" || errors.Is(missing, os.ErrNotExist) {
				var mistake *rml.MappingError
				var failure *rml.MessageError
				require.True(t, errors.As(err, &mistake) || errors.As(err, &failure), "expected it to be refused, got %v", err)
				t.Log(err)
				return
			}
			require.NoError(t, missing)
			require.NoError(t, err)
			wanted := read(t, want)
			if s.Counted[short] != "" {
				require.Len(t, got, len(wanted))
				return
			}
			if s.Untyped[short] != "" {
				untype(wanted)
				untype(got)
			}
			if !rdftest.Isomorphic(got, wanted) {
				t.Fatalf("the output is not what the case expects:\n%s", rdftest.Diff(got, wanted))
			}
		})
	}
}

// Map runs the mapping of a folder, mapping.ttl, over a database.
func Map(t *testing.T, driver relational.Driver, folder, url string) ([]rdf.Quad, error) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(folder, "mapping.ttl"))
	require.NoError(t, err)
	mapping, err := rml.Load(src, nil)
	if err != nil {
		return nil, err
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NQuads})
	if err != nil {
		return nil, err
	}
	databases := relational.New([]relational.Driver{driver}, &relational.Options{URL: url})
	defer func() { require.NoError(t, databases.Close()) }()
	var out bytes.Buffer
	if err := plan.NewMapper().Run(t.Context(), &out, rml.Files{Query: databases.Query}); err != nil {
		return nil, err
	}
	return read(t, out.Bytes()), nil
}

// read reads N-Quads as a set.
func read(t *testing.T, data []byte) []rdf.Quad {
	t.Helper()
	reader, err := rdf.NewReader(bytes.NewReader(data), rdf.NQuads, nil)
	require.NoError(t, err)
	var quads []rdf.Quad
	seen := make(map[rdf.Quad]bool)
	for q, err := range reader.All() {
		require.NoError(t, err, "not valid N-Quads:\n%s", data)
		if !seen[q] {
			seen[q] = true
			quads = append(quads, q)
		}
	}
	return quads
}

// untype takes the datatypes from literals, and writes numbers in one way.
func untype(quads []rdf.Quad) {
	for i := range quads {
		object := &quads[i].Object
		object.Datatype = ""
		if number, err := strconv.ParseFloat(object.Value, 64); err == nil && object.Kind == rdf.Literal {
			object.Value = strconv.FormatFloat(number, 'g', -1, 64)
		}
	}
}

// refusals returns the cases that must be refused by the table of a suite, which not
// every suite has.
func refusals(t *testing.T, suite string) map[string]bool {
	t.Helper()
	refused := make(map[string]bool)
	file, err := os.Open(filepath.Join(conformance.Dir(t, suite), "metadata.csv"))
	if errors.Is(err, os.ErrNotExist) {
		return refused
	}
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		for i, cell := range row {
			if rows[0][i] == "error expected?" {
				refused[row[0]] = cell == "true"
			}
		}
	}
	return refused
}
