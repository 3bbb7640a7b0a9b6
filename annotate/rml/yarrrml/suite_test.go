package yarrrml_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
	"github.com/iotenablers/enablers/internal/conformance"
)

func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(conformance.Dir(t, "yarrrml"), "*", "mapping.yml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 30)
	return files
}

// Each case maps its data with the YARRRML and with the RML that it stands for, or has the
// output itself.
func TestLoad_passesTheCasesOfYARRRML(t *testing.T) {
	for _, file := range cases(t) {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			got, err := yarrrml.Load(read(t, file), nil)
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join(folder, "expected.ttl"))
			if err == nil {
				requireIsomorphic(t, statements(t, rdf.Turtle, want), run(t, folder, got))
				return
			}
			mapping := expected(t, filepath.Join(folder, "expected.rml.ttl"))
			requireIsomorphic(t, run(t, folder, mapping), run(t, folder, got))
		})
	}
}

// expected loads the RML of a case.
func expected(t *testing.T, file string) *rml.Mapping {
	t.Helper()
	mapping, err := rml.Load(read(t, file), nil)
	require.NoError(t, err)
	return mapping
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}

func run(t *testing.T, folder string, mapping *rml.Mapping) []rdf.Quad {
	t.Helper()
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NQuads})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, plan.NewMapper().Run(context.Background(), &out, rml.LocalFiles(folder, nil)))
	return statements(t, rdf.NQuads, out.Bytes())
}

func statements(t *testing.T, format rdf.Format, data []byte) []rdf.Quad {
	t.Helper()
	reader, err := rdf.NewReader(bytes.NewReader(data), format, nil)
	require.NoError(t, err)
	var quads []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err)
		quads = append(quads, q)
	}
	return quads
}

func requireIsomorphic(t *testing.T, want, got []rdf.Quad) {
	t.Helper()
	require.NotEmpty(t, want)
	if !rdftest.Isomorphic(got, want) {
		t.Fatal(rdftest.Diff(got, want))
	}
}
