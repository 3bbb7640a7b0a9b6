package rml_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/conformance"
)

// outcome is what a case of a suite expects.
type outcome struct {
	rejected bool
	byLine   bool   // compare lines of text: the expected output is not valid N-Quads
	reason   string // why it differs from what the suite's own files say
}

// legacyFaults are the cases of the legacy suite whose files contradict each
// other, with what is right and why.
var legacyFaults = map[string]outcome{
	"RMLTC0002c-JSON": {
		reason: "the table says that an error is expected, the output file that the output is empty: a key that a " +
			"JSON object lacks is no value, not an error",
	},
	"RMLTC0002c-XML": {reason: "as RMLTC0002c-JSON: an element that is not there is no value"},
	"RMLTC0002g-JSON": {
		rejected: true,
		reason: "the table says that no error is expected, but the iterator is not valid JSONPath and the source " +
			"file does not exist",
	},
	"RMLTC0007h-CSV": {
		rejected: true,
		reason: "the table says that no error is expected, but the graph of the subject map is a literal; RML-Core " +
			"expects an error for the same case",
	},
	"RMLTC0007h-JSON": {rejected: true, reason: "as RMLTC0007h-CSV"},
	"RMLTC0007h-XML":  {rejected: true, reason: "as RMLTC0007h-CSV"},
}

func TestMapper_passesTheLegacySuite(t *testing.T) {
	dir := conformance.Dir(t, "rml-test-cases")
	rejected := make(map[string]bool)
	for _, row := range table(t, filepath.Join(dir, "metadata.csv")) {
		rejected[row["RML id"]] = row["error expected?"] == "true"
	}
	cases := folders(t, dir, 93)
	for _, folder := range cases {
		name := filepath.Base(folder)
		expected := outcome{rejected: rejected[name]}
		if fault, known := legacyFaults[name]; known {
			expected = fault
		}
		t.Run(name, func(t *testing.T) { runCase(t, folder, "", expected) })
	}
}

// runCase maps the folder of a case and compares the outcome.
func runCase(t *testing.T, folder, base string, expected outcome) {
	t.Helper()
	var out bytes.Buffer
	err := runMapping(t, folder, base, &out)
	if expected.rejected {
		requireRejection(t, err)
		return
	}
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join(folder, "output.nq"))
	if os.IsNotExist(err) {
		want, err = os.ReadFile(filepath.Join(folder, "default.nq"))
	}
	require.NoError(t, err)
	if expected.byLine {
		require.ElementsMatch(t, strings.Fields(string(want)), strings.Fields(out.String()))
		return
	}
	wanted, got := readNQuads(t, want), readNQuads(t, out.Bytes())
	if !rdftest.Isomorphic(got, wanted) {
		t.Fatalf("the output is not what the case expects:\n%s", rdftest.Diff(got, wanted))
	}
}

// folders returns the cases of a suite, of which there must be at least as many
// as the project is held to.
func folders(t *testing.T, dir string, least int) []string {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(dir, "RML*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(cases), least, "cases of the suite are missing")
	return cases
}

// requireRejection checks that an error is one that tells a person what to do.
func requireRejection(t *testing.T, err error) {
	t.Helper()
	var mistake *rml.MappingError
	var failure *rml.MessageError
	require.True(t, errors.As(err, &mistake) || errors.As(err, &failure),
		"expected the mapping or the input to be refused, got %v", err)
	t.Log(err)
}

func runMapping(t *testing.T, folder, base string, out *bytes.Buffer) error {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(folder, "mapping.ttl"))
	require.NoError(t, err)
	mapping, err := rml.Load(src, nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NQuads, Base: base})
	if err != nil {
		return err
	}
	return plan.NewMapper().Run(context.Background(), out, rml.LocalFiles(folder, nil))
}

func readNQuads(t *testing.T, data []byte) []rdf.Quad {
	t.Helper()
	reader, err := rdf.NewReader(bytes.NewReader(data), rdf.NQuads, nil)
	require.NoError(t, err)
	var quads []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err, "not valid N-Quads:\n%s", data)
		quads = append(quads, q)
	}
	return quads
}

// table reads a CSV file with a header into one map a row.
func table(t *testing.T, file string) []map[string]string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	var out []map[string]string
	for _, row := range rows[1:] {
		m := make(map[string]string, len(row))
		for i, cell := range row {
			m[rows[0][i]] = cell
		}
		out = append(out, m)
	}
	return out
}
