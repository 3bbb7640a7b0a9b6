package rml_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/conformance"
)

// untyped are the cases that expect "33" for a JSON number where RML-Core, and
// the other cases of the suite, have "33"^^xsd:integer.
var untyped = map[string]bool{
	"RMLTTC0004a": true, "RMLTTC0004c": true, "RMLTTC0004e": true, "RMLTTC0004f": true, "RMLTTC0004g": true,
	"RMLTTC0005b": true, "RMLTTC0006b": true, "RMLTTC0006c": true, "RMLTTC0006d": true, "RMLTTC0006e": true,
}

var ioFaults = map[string]outcome{
	"RMLSTC0009a": {
		reason: "the table says that an error is expected, but the header is quoted as RFC 4180 allows and the case " +
			"has an output",
	},
}

func TestMapper_passesTheInputOutputSuite(t *testing.T) {
	dir := conformance.Dir(t, "rml-io")
	cases := folders(t, dir, 58)
	rejected := make(map[string]bool)
	for _, row := range table(t, filepath.Join(dir, "metadata.csv")) {
		rejected[row["ID"]] = row["error"] == "true"
	}
	for _, folder := range cases {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			if name == "RMLSTC0006a" {
				t.Skip("package relational/sqlite has it, with a database")
			}
			expected := outcome{rejected: rejected[name]}
			if fault, known := ioFaults[name]; known {
				expected = fault
			}
			runTargets(t, folder, expected)
		})
	}
}

// typed are the cases that expect "33"^^xsd:integer where the input has "33" and its format, results of SPARQL in
// CSV, has no datatypes: in RML-Core, and in the cases with a CSV file, the value of a cell is a string.
var typed = map[string]bool{"RMLSTC0003": true}

// runTargets maps the folder of a case and compares the default output and
// every target.
func runTargets(t *testing.T, folder string, expected outcome) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(folder, "mapping.ttl"))
	require.NoError(t, err)
	mapping, err := rml.Load(src, nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NQuads})
	require.NoError(t, err)
	files, written := rml.LocalFiles(folder, nil), t.TempDir()
	local := rml.LocalFiles(written, nil)
	var targets []rml.Target
	files.Create = func(target rml.Target) (rml.TargetWriter, error) {
		target.WorkingDirectory = false // the folder of this test stands for it
		targets = append(targets, target)
		return local.Create(target)
	}
	var out bytes.Buffer
	err = plan.NewMapper().Run(context.Background(), &out, files)
	if expected.rejected {
		requireRejection(t, err)
		return
	}
	require.NoError(t, err)
	_, untyped := untyped[filepath.Base(folder)]
	want, err := os.ReadFile(filepath.Join(folder, "default.nq"))
	if os.IsNotExist(err) {
		want, err = os.ReadFile(filepath.Join(folder, "output.nq"))
	}
	require.NoError(t, err)
	expectedQuads := readNQuads(t, want)
	if typed[filepath.Base(folder)] {
		expectedQuads = withoutIntegers(expectedQuads)
	}
	requireSame(t, "default output", expectedQuads, readNQuads(t, out.Bytes()), untyped)
	dumps, err := filepath.Glob(filepath.Join(folder, "dump*"))
	require.NoError(t, err)
	require.Len(t, targets, len(dumps))
	for _, target := range targets {
		requireSame(t, target.Name, readTarget(t, folder, target), readTarget(t, written, target), untyped)
	}
}

func requireSame(t *testing.T, what string, want, got []rdf.Quad, untyped bool) {
	t.Helper()
	if untyped {
		got = withoutIntegers(got)
	}
	if !rdftest.Isomorphic(got, want) {
		t.Fatalf("%s is not what the case expects:\n%s", what, rdftest.Diff(got, want))
	}
}

// withoutIntegers turns integers into strings.
func withoutIntegers(quads []rdf.Quad) []rdf.Quad {
	for i := range quads {
		if quads[i].Object.Datatype == rdf.XSDInteger {
			quads[i].Object.Datatype = ""
		}
	}
	return quads
}

// readTarget reads what was written to a target.
func readTarget(t *testing.T, dir string, target rml.Target) []rdf.Quad {
	t.Helper()
	packed, err := os.Open(filepath.Join(dir, target.Name))
	require.NoError(t, err)
	defer packed.Close()
	text, err := rml.Unpack(packed, target)
	require.NoError(t, err)
	data, err := io.ReadAll(text)
	require.NoError(t, err)
	return readRDF(t, target.Format, data)
}
