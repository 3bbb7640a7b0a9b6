package rml_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/conformance"
)

// coreFaults are the cases whose files cannot be compared as the others are.
var coreFaults = map[string]outcome{
	"RMLTC0027b-JSON": {
		byLine: true,
		reason: "an rml:UnsafeIRI with a space is expected as it is, which no reader of N-Quads takes",
	},
}

func TestMapper_passesTheCoreSuite(t *testing.T)       { runSuite(t, "rml-core", 61, coreFaults) }
func TestMapper_passesTheFunctionSuite(t *testing.T)   { runSuite(t, "rml-fnml", 14, nil) }
func TestMapper_passesTheViewSuite(t *testing.T)       { runSuite(t, "rml-lv", 34, nil) }
func TestMapper_passesTheCollectionSuite(t *testing.T) { runSuite(t, "rml-cc", 27, nil) }

// runSuite runs every case of a suite that is here. What a case expects stands
// in the table of the suite, unless its files are known to be at fault.
func runSuite(t *testing.T, suite string, least int, faults map[string]outcome) {
	dir := conformance.Dir(t, suite)
	rows := make(map[string]map[string]string)
	for _, row := range table(t, filepath.Join(dir, "metadata.csv")) {
		rows[row["ID"]] = row
	}
	for _, folder := range folders(t, dir, least) {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			row := rows[name]
			require.NotNil(t, row, "the table of the suite has no row for it")
			expected := outcome{rejected: row["error"] == "true"}
			if fault, known := faults[name]; known {
				expected = fault
			}
			runCase(t, folder, row["base_iri"], expected)
		})
	}
}
