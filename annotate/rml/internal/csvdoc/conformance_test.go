package csvdoc_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/internal/conformance"
)

// faulty are the files whose rows the suites themselves declare ragged.
var faulty = map[string]bool{"RMLSTC0010a": true, "RMLSTC0010b": true}

func TestDocument_readsEveryFileOfTheSuites(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(conformance.Dir(t, ""), "rml-*", "*", "*.csv"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		c := csvdoc.New(everyCell, input.Limits{})
		doc := c.NewDocument()
		if faulty[filepath.Base(filepath.Dir(file))] {
			require.ErrorContains(t, doc.Load(data), "line 2 column 1: the row has", file)
			continue
		}
		require.NoError(t, doc.Load(data), file)
		want, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		require.NoError(t, err, file)
		require.Equal(t, want[1:], table(t, c, doc, want[0]...), file)
	}
}
