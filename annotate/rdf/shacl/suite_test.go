package shacl_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
	"github.com/iotenablers/enablers/internal/conformance"
	"github.com/iotenablers/enablers/internal/peertest"
)

const (
	sh = "http://www.w3.org/ns/shacl#"
	mf = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
	// suiteCases is how many cases of SHACL Core the suite of the W3C has.
	suiteCases = 98
)

// facts are the statements of a manifest.
type facts []rdf.Quad

func (f facts) all(s rdf.Term, p string) []rdf.Term {
	var found []rdf.Term
	for _, q := range f {
		if q.Subject == s && q.Predicate.Value == p {
			found = append(found, q.Object)
		}
	}
	return found
}

func (f facts) one(s rdf.Term, p string) rdf.Term {
	if found := f.all(s, p); len(found) > 0 {
		return found[0]
	}
	return rdf.Term{}
}

func readFacts(t *testing.T, file string) (facts, []byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	r, err := rdf.NewReader(bytes.NewReader(text), rdf.Turtle, &rdf.ReaderOptions{Base: "file://" + file})
	require.NoError(t, err)
	var all facts
	for q, err := range r.All() {
		require.NoError(t, err)
		all = append(all, q)
	}
	return all, text
}

// describe returns a result as text. Blank nodes have no names.
func describe(focus rdf.Term, path string, value, shape rdf.Term, component, severity string) string {
	show := func(t rdf.Term) string {
		if t.Kind == rdf.Blank {
			return "_"
		}
		return string(rdf.AppendTerm(nil, t))
	}
	return strings.Join([]string{show(focus), path, show(value), show(shape), component, severity}, " | ")
}

// pyshacl is a validator in Python. Its source archive has the suite of the W3C.
const pyshacl = "pyshacl==0.40.1"

// suite returns the folder with the cases of SHACL Core.
func suite(t *testing.T) string {
	t.Helper()
	source, err := peertest.PythonSource(t, pyshacl)
	if err == nil {
		return filepath.Join(source, "test", "resources", "sht_tests", "core")
	}
	t.Logf("no suite from a source archive: %v", err)
	dir, err := filepath.Abs(filepath.Join(conformance.Dir(t, "shacl"), "tests", "core"))
	require.NoError(t, err)
	return dir
}

func TestShapes_Validate_passesTheSuiteOfTheW3C(t *testing.T) {
	dir := suite(t)
	cases := 0
	require.NoError(t, filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".ttl" {
			return err
		}
		manifest, text := readFacts(t, file)
		for _, q := range manifest {
			if q.Predicate.Value != mf+"action" {
				continue
			}
			cases++
			name, _ := filepath.Rel(dir, file)
			t.Run(name, func(t *testing.T) { runCase(t, manifest, text, file, q) })
		}
		return nil
	}))
	require.Equal(t, suiteCases, cases)
}

func runCase(t *testing.T, manifest facts, text []byte, file string, action rdf.Quad) {
	const sht = "http://www.w3.org/ns/shacl-test#"
	shapesFile := strings.TrimPrefix(manifest.one(action.Object, sht+"shapesGraph").Value, "file://")
	shapesText, err := os.ReadFile(shapesFile)
	require.NoError(t, err)
	shapes, err := shacl.Load(shapesText, &shacl.Options{Base: "file://" + shapesFile})
	require.NoError(t, err)
	data, _ := readFacts(t, strings.TrimPrefix(manifest.one(action.Object, sht+"dataGraph").Value, "file://"))
	report, err := shapes.Validate(data)
	require.NoError(t, err)
	expected := manifest.one(action.Subject, mf+"result")
	require.Equal(t, manifest.one(expected, sh+"conforms").Value == "true", report.Conforms())
	want, got := []string{}, []string{}
	for _, r := range manifest.all(expected, sh+"result") {
		path := ""
		if node := manifest.one(r, sh+"resultPath"); !node.IsZero() {
			path, err = shacl.PathText(text, "file://"+file, node)
			require.NoError(t, err)
		}
		want = append(want, describe(manifest.one(r, sh+"focusNode"), path, manifest.one(r, sh+"value"),
			manifest.one(r, sh+"sourceShape"), manifest.one(r, sh+"sourceConstraintComponent").Value,
			manifest.one(r, sh+"resultSeverity").Value))
	}
	for _, r := range report.Results {
		got = append(got, describe(r.Focus, r.Path, r.Value, r.Shape, r.Component, r.Severity))
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}
