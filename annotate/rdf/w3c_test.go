package rdf_test

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/internal/conformance"
)

// suites are the four W3C test suites, with the number of tests of each kind: a
// test that goes missing fails.
var suites = []struct {
	folder                         string
	format                         rdf.Format
	positive, negative, evaluation int
}{
	{"turtle", rdf.Turtle, 74, 94, 145},
	{"n-triples", rdf.NTriples, 41, 29, 0},
	{"n-quads", rdf.NQuads, 53, 34, 0},
	{"trig", rdf.TriG, 98, 115, 143},
}

type w3cTest struct {
	name, kind, action, result string // kind is the local name of the type
	base                       string
}

func manifest(t testing.TB, folder string) []w3cTest {
	t.Helper()
	const mf = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
	data, err := os.ReadFile(filepath.Join(folder, "manifest.ttl"))
	require.NoError(t, err)
	const base = "http://manifest.example/"
	quads, err := read(data, rdf.Turtle, base+"manifest.ttl")
	require.NoError(t, err)
	about := map[rdf.Term]map[string]rdf.Term{}
	for _, q := range quads {
		if about[q.Subject] == nil {
			about[q.Subject] = map[string]rdf.Term{}
		}
		about[q.Subject][q.Predicate.Value] = q.Object
	}
	head := about[rdf.NewIRI(base+"manifest.ttl")]
	assumed := head[mf+"assumedTestBase"].Value
	var tests []w3cTest
	for cell := head[mf+"entries"]; cell.Value != rdf.Nil; cell = about[cell][rdf.Rest] {
		entry := about[about[cell][rdf.First]]
		require.NotEmpty(t, entry)
		test := w3cTest{
			name:   entry[mf+"name"].Value,
			kind:   entry[rdf.Type].Value,
			action: strings.TrimPrefix(entry[mf+"action"].Value, base),
			result: strings.TrimPrefix(entry[mf+"result"].Value, base),
		}
		test.kind = test.kind[strings.LastIndexByte(test.kind, '#')+1:]
		if assumed != "" {
			test.base = assumed + test.action
		}
		tests = append(tests, test)
	}
	return tests
}

func read(data []byte, f rdf.Format, base string) ([]rdf.Quad, error) {
	return readFrom(bytes.NewReader(data), f, base)
}

func readFrom(in io.Reader, f rdf.Format, base string) ([]rdf.Quad, error) {
	r, err := rdf.NewReader(in, f, &rdf.ReaderOptions{Base: base})
	if err != nil {
		return nil, err
	}
	var quads []rdf.Quad
	for q, err := range r.All() {
		if err != nil {
			return quads, err
		}
		quads = append(quads, q)
	}
	return quads, nil
}

func TestReader_passesTheW3CTests(t *testing.T) {
	for _, s := range suites {
		t.Run(s.folder, func(t *testing.T) {
			folder := conformance.Dir(t, "w3c/"+s.folder)
			ran := map[string]int{}
			for _, test := range manifest(t, folder) {
				t.Run(test.name, func(t *testing.T) {
					data, err := os.ReadFile(filepath.Join(folder, test.action))
					require.NoError(t, err)
					got, err := read(data, s.format, test.base)
					oneByte, errOneByte := readFrom(&dripping{data}, s.format, test.base)
					require.Equal(t, err, errOneByte)
					require.Equal(t, got, oneByte)
					kind := strings.NewReplacer("Turtle", "", "Trig", "", "TriG", "", "NTriples", "", "NQuads", "").Replace(test.kind)
					ran[kind]++
					switch kind {
					case "TestPositiveSyntax":
						require.NoError(t, err)
					case "TestNegativeSyntax":
						require.Error(t, err, "accepted:\n%s", data)
						var syntax *rdf.SyntaxError
						require.ErrorAs(t, err, &syntax)
					case "TestEval":
						require.NoError(t, err)
						require.Empty(t, rdftest.Diff(got, expected(t, folder, test)))
					default:
						require.Fail(t, "unknown kind of test", test.kind)
					}
				})
			}
			require.Equal(t, [3]int{s.positive, s.negative, s.evaluation},
				[3]int{ran["TestPositiveSyntax"], ran["TestNegativeSyntax"], ran["TestEval"]}, "tests that were run")
		})
	}
}

func expected(t testing.TB, folder string, test w3cTest) []rdf.Quad {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, test.result))
	require.NoError(t, err)
	f, err := rdf.ParseFormat(strings.TrimPrefix(path.Ext(test.result), "."))
	require.NoError(t, err)
	quads, err := read(data, f, "")
	require.NoError(t, err)
	return quads
}

// dripping yields one byte a call.
type dripping struct{ rest []byte }

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	p[0] = d.rest[0]
	d.rest = d.rest[1:]
	return 1, nil
}
