package rml_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/conformance"
)

func TestCoreSuite(t *testing.T) {
	dir := conformance.Dir(t, "rml-core")
	rows := make(map[string]map[string]string)
	for _, row := range table(t, filepath.Join(dir, "metadata.csv")) {
		rows[row["ID"]] = row
	}
	cases, err := filepath.Glob(filepath.Join(dir, "RMLTC*"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, folder := range cases {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			row := rows[name]
			require.NotNil(t, row, "the table of the suite has no row for it")
			runCase(t, folder, row["base_iri"], outcome{rejected: row["error"] == "true"})
		})
	}
}
