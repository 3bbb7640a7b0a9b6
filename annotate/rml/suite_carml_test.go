package rml_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/conformance"
)

// carmlMust are the cases of CARML 0.3.2 about iterators over arrays and about
// datatypes. In many of the others CARML differs from the standards, and so the
// engine from CARML.
var carmlMust = []string{
	"doc-toparr", "top-dollar", "it-nested", "jit-liststar", "jit-scalar",
	"dt-dec", "dt-empty", "dt-int",
}

// carmlLeast is how many cases give what CARML 0.3.2 gave, or an error where it
// gave one.
const carmlLeast = 64

// TestMapper_agreesWithCARMLOnTheLegacySuite maps the message of each case as a channel does.
func TestMapper_agreesWithCARMLOnTheLegacySuite(t *testing.T) {
	dir := conformance.Dir(t, "carml-0.3.2")
	files, err := filepath.Glob(filepath.Join(dir, "*.in"))
	require.NoError(t, err)
	agree, held := 0, 0
	for _, file := range files {
		base := strings.TrimSuffix(file, ".in")
		err := carmlCase(t, base)
		if err == nil {
			agree++
		} else {
			t.Logf("%s: %v", filepath.Base(base), err)
		}
		if slices.Contains(carmlMust, filepath.Base(base)) {
			held++
			require.NoError(t, err, filepath.Base(base))
		}
	}
	require.Equal(t, len(carmlMust), held, "cases of the suite are missing")
	require.GreaterOrEqual(t, agree, carmlLeast)
	t.Logf("%d of %d cases give what CARML gave", agree, len(files))
}

// carmlCase returns how the outcome of a case differs from CARML's.
func carmlCase(t *testing.T, base string) error {
	t.Helper()
	read := func(ending string) []byte {
		data, err := os.ReadFile(base + ending)
		require.NoError(t, err)
		return data
	}
	quads, err := mapMessage(read(".ttl"), read(".in"))
	if _, gone := os.Stat(base + ".error"); gone == nil {
		if err == nil {
			return fmt.Errorf("CARML fails, the engine gives %d statements", len(quads))
		}
		return nil
	}
	if err != nil {
		return err
	}
	reader, err := rdf.NewReader(bytes.NewReader(read(".out.ttl")), rdf.Turtle, nil)
	require.NoError(t, err)
	var want []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err)
		want = append(want, q)
	}
	if !rdftest.Isomorphic(quads, want) {
		return fmt.Errorf("other statements:\n%s", rdftest.Diff(quads, want))
	}
	return nil
}

func mapMessage(mapping, message []byte) ([]rdf.Quad, error) {
	loaded, err := rml.Load(mapping, nil)
	if err != nil {
		return nil, err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Strict: true})
	if err != nil {
		return nil, err
	}
	return plan.NewMapper().Quads(message)
}
