package rml_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/antchfx"
	"github.com/iotenablers/enablers/annotate/rml/paessler"
	"github.com/iotenablers/enablers/internal/conformance"
)

// evaluators are those of the subpackages, all at once.
func evaluators() map[rml.Formulation]rml.Evaluator {
	return map[rml.Formulation]rml.Evaluator{rml.JSONPath: paessler.JSONPath(), rml.XPath: antchfx.XPath()}
}

// No case fails because of a library: the suite uses names, [*] and child steps.
func TestEvaluator_passesTheLegacySuite(t *testing.T) {
	dir := conformance.Dir(t, "rml-test-cases")
	rejected := make(map[string]bool)
	for _, row := range table(t, filepath.Join(dir, "metadata.csv")) {
		rejected[row["RML id"]] = row["error expected?"] == "true"
	}
	for _, format := range []string{"JSON", "XML"} {
		folders, err := filepath.Glob(filepath.Join(dir, "RMLTC*-"+format))
		require.NoError(t, err)
		require.NotEmpty(t, folders)
		for _, folder := range folders {
			name := filepath.Base(folder)
			expected := outcome{rejected: rejected[name]}
			if fault, known := legacyFaults[name]; known {
				expected = fault
			}
			t.Run(name, func(t *testing.T) {
				got, err := mapFolder(t, folder, evaluators())
				if expected.rejected {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				want, err := os.ReadFile(filepath.Join(folder, "output.nq"))
				require.NoError(t, err)
				requireSameGraph(t, string(want), got)
			})
		}
	}
}

// mapFolder maps the folder of a case.
func mapFolder(t *testing.T, folder string, chosen map[rml.Formulation]rml.Evaluator) (string, error) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(folder, "mapping.ttl"))
	require.NoError(t, err)
	mapping, err := rml.Load(src, nil)
	if err != nil {
		return "", err
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NQuads, Evaluators: chosen})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = plan.NewMapper().Run(t.Context(), &out, rml.LocalFiles(folder, nil))
	return out.String(), err
}

// requireSameGraph compares two documents, which need not be valid N-Quads if
// they are the same.
func requireSameGraph(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	wanted, have := readNQuads(t, []byte(want)), readNQuads(t, []byte(got))
	require.True(t, rdftest.Isomorphic(have, wanted), "%s", rdftest.Diff(have, wanted))
}

// The suites of the new vocabulary have views, natural datatypes, collections
// and functions over the same references.
func TestEvaluator_agreesWithTheBuiltInEnginesOnTheOtherSuites(t *testing.T) {
	compared := 0
	for _, suite := range []string{"rml-core", "rml-lv", "rml-cc", "rml-fnml"} {
		folders, err := filepath.Glob(filepath.Join(conformance.Dir(t, suite), "*"))
		require.NoError(t, err)
		for _, folder := range folders {
			if _, err := os.Stat(filepath.Join(folder, "mapping.ttl")); err != nil {
				continue
			}
			t.Run(suite+"/"+filepath.Base(folder), func(t *testing.T) {
				want, wantErr := mapFolder(t, folder, nil)
				got, err := mapFolder(t, folder, evaluators())
				if wantErr != nil {
					require.Error(t, err, "the built-in engine says: %v", wantErr)
					return
				}
				require.NoError(t, err)
				requireSameGraph(t, want, got)
				compared++
			})
		}
	}
	require.Greater(t, compared, 50)
}

func TestEvaluator_mapsTheSample(t *testing.T) {
	for _, name := range []string{"JSON", "XML"} {
		s := samples[name]
		want, err := newMapper(t, s.mapping, nil).Append(nil, []byte(s.message))
		require.NoError(t, err)
		m := newMapper(t, s.mapping, &rml.Options{Evaluators: evaluators()})
		for range 3 {
			got, err := m.Append(nil, []byte(s.message))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), name)
		}
	}
}

func TestEvaluator_servesConcurrentMappers(t *testing.T) {
	for _, name := range []string{"JSON", "XML"} {
		s := samples[name]
		mapping, err := rml.Load([]byte(s.mapping), nil)
		require.NoError(t, err)
		plan, err := rml.Compile(mapping, &rml.Options{Evaluators: evaluators()})
		require.NoError(t, err)
		want, err := plan.NewMapper().Append(nil, []byte(s.message))
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				m := plan.NewMapper()
				for range 20 {
					got, err := m.Append(nil, []byte(s.message))
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s: got %s, %v", name, got, err)
						return
					}
				}
			})
		}
		group.Wait()
	}
}

// keys is an evaluator of plain keys that fails in every way on demand.
func keys() rml.Evaluator {
	return rml.Evaluator{
		Parse: func(data []byte) (any, error) {
			if strings.Contains(string(data), "refused") {
				return nil, errors.New("I do not like it")
			}
			if strings.Contains(string(data), "terrible") {
				panic("help")
			}
			return "root", nil
		},
		Compile: func(expr string, _ map[string]string) (func(any) ([]any, error), error) {
			switch expr {
			case "bad":
				return nil, errors.New("it is bad")
			case "panic":
				panic("what is this")
			case "nothing":
				return nil, nil
			}
			return func(node any) ([]any, error) {
				switch expr {
				case "$":
					return []any{"record"}, nil
				case "fail":
					return nil, errors.New("it failed")
				case "crash":
					panic("it crashed")
				case "none":
					return nil, nil
				}
				return []any{expr}, nil
			}, nil
		},
		Value: func(node any) (string, rml.ValueKind, bool) {
			switch node {
			case "unreadable":
				panic("I cannot read")
			case "absent":
				return "", rml.StringValue, false
			case "null":
				return "", rml.NullValue, true
			case "list":
				return "[]", rml.CompositeValue, true
			}
			return node.(string), rml.StringValue, true
		},
	}
}

func TestEvaluator_namesThePlaceOfAFailure(t *testing.T) {
	for reference, want := range map[string]string{
		"bad":        `compile reference "bad": it is bad`,
		"panic":      `compile reference "panic": the evaluator panicked: what is this`,
		"nothing":    `compile reference "nothing": the evaluator returned nothing`,
		"fail":       `record 1 of $: evaluate "fail": it failed`,
		"crash":      `record 1 of $: evaluate "crash": the evaluator panicked: it crashed`,
		"unreadable": `record 1 of $: evaluate "unreadable": the evaluator panicked: I cannot read`,
		"list":       `value 1 of "list" in record 1 of $`,
	} {
		out, err := mapWithKeys(t, reference, `{}`)
		require.ErrorContains(t, err, want)
		require.Empty(t, out)
	}
	for message, want := range map[string]string{
		`{"refused":1}`:  "parse the input: I do not like it",
		`{"terrible":1}`: "parse the input: the evaluator panicked: help",
		`{"a":}`:         "JSON line 1 column 6",
		strings.Repeat("[", 300) + strings.Repeat("]", 300): "nesting deeper than the limit of 256",
	} {
		_, err := mapWithKeys(t, "text", message)
		require.ErrorContains(t, err, want)
	}
}

func TestEvaluator_makesNoStatementOfAMissingValue(t *testing.T) {
	for reference, lines := range map[string]int{"text": 1, "none": 0, "absent": 0, "null": 0} {
		out, err := mapWithKeys(t, reference, `{}`)
		require.NoError(t, err)
		require.Equal(t, lines, strings.Count(string(out), "\n"), reference)
	}
}

func mapWithKeys(t *testing.T, reference, message string) ([]byte, error) {
	t.Helper()
	mapping, err := rml.Load([]byte(strings.NewReplacer("{device}/{seq}", "{id}", "; rr:class sosa:Observation", "",
		`"value"`, `"`+reference+`"`).Replace(exampleMapping)), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, &rml.Options{Evaluators: map[rml.Formulation]rml.Evaluator{rml.JSONPath: keys()}})
	if err != nil {
		return nil, err
	}
	return plan.NewMapper().Append(nil, []byte(message))
}

func TestCompile_refusesIncompleteEvaluators(t *testing.T) {
	mapping, err := rml.Load([]byte(exampleMapping), nil)
	require.NoError(t, err)
	for want, chosen := range map[string]map[rml.Formulation]rml.Evaluator{
		`evaluator for "CSV": only JSONPath and XPath can be evaluated by another`: {rml.CSV: keys()},
		`evaluator for "XPath": Parse, Compile and Value are required`:             {rml.XPath: {}},
	} {
		_, err := rml.Compile(mapping, &rml.Options{Evaluators: chosen})
		require.EqualError(t, err, want)
	}
}

// BenchmarkEvaluator maps the sample messages with each engine.
func BenchmarkEvaluator(b *testing.B) {
	for _, name := range []string{"JSON", "XML"} {
		for _, chosen := range []struct {
			name       string
			evaluators map[rml.Formulation]rml.Evaluator
		}{{"built-in", nil}, {map[string]string{"JSON": "paessler", "XML": "antchfx"}[name], evaluators()}} {
			s := samples[name]
			b.Run(name+"/"+chosen.name, func(b *testing.B) {
				m := newMapper(b, s.mapping, &rml.Options{Evaluators: chosen.evaluators})
				message := []byte(s.message)
				out := make([]byte, 0, 8192)
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if out, err = m.Append(out[:0], message); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			})
		}
	}
}
