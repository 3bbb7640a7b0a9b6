package yarrrml_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
	"github.com/iotenablers/enablers/internal/conformance"
)

// trip is a mapping with how to run it.
type trip struct {
	document *yarrrml.Document
	run      func(m *rml.Mapping) ([]rdf.Quad, error)
}

// requireSameGraph translates a mapping to YARRRML and back, and to Turtle, and runs all of them.
func (c trip) requireSameGraph(t *testing.T) error {
	t.Helper()
	mapping, err := rml.LoadStatements(c.document.Statements, c.document.Prefixes, nil)
	require.NoError(t, err)
	want, failure := c.run(mapping)

	turtle := yarrrml.WriteRML(c.document)
	fromTurtle, err := rml.Load(turtle, nil)
	require.NoError(t, err, string(turtle))
	c.requireOutcome(t, fromTurtle, want, failure, string(turtle))

	text, _, err := yarrrml.Write(c.document)
	if err != nil {
		var wrong *rml.MappingError
		require.ErrorAs(t, err, &wrong)
		require.Positive(t, wrong.Line, err)
		require.NotEmpty(t, wrong.Node)
		return err
	}
	back, err := yarrrml.Load(text, nil)
	require.NoError(t, err, string(text))
	c.requireOutcome(t, back, want, failure, string(text))
	return nil
}

func (c trip) requireOutcome(t *testing.T, m *rml.Mapping, want []rdf.Quad, failure error, text string) {
	t.Helper()
	got, err := c.run(m)
	if failure != nil {
		require.Error(t, err, "the mapping itself fails with %v; its translation is\n%s", failure, text)
		return
	}
	require.NoError(t, err, text)
	if !rdftest.Isomorphic(got, want) {
		t.Fatalf("the translation makes another graph:\n%s\n%s", rdftest.Diff(got, want), text)
	}
}

// requireUnsaid compares which cases cannot be said with those that are known, and why.
func requireUnsaid(t *testing.T, known map[string]string, unsaid map[string]error) {
	t.Helper()
	require.ElementsMatch(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(unsaid)), "%v", unsaid)
	for name, err := range unsaid {
		require.ErrorContains(t, err, known[name], name)
	}
}

func overFiles(folder string, opts rml.Options) func(*rml.Mapping) ([]rdf.Quad, error) {
	return func(m *rml.Mapping) ([]rdf.Quad, error) {
		opts.Format = rdf.NQuads
		plan, err := rml.Compile(m, &opts)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := plan.NewMapper().Run(context.Background(), &out, rml.LocalFiles(folder, nil)); err != nil {
			return nil, err
		}
		return parsed(out.Bytes())
	}
}

func parsed(data []byte) (quads []rdf.Quad, err error) {
	reader, err := rdf.NewReader(bytes.NewReader(data), rdf.NQuads, nil)
	if err != nil {
		return nil, err
	}
	for q, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		quads = append(quads, q)
	}
	return quads, nil
}

// readRML reads the RML of a case. It reports false for one that is no mapping.
func readRML(t *testing.T, file string) (*yarrrml.Document, bool) {
	t.Helper()
	d, err := yarrrml.ReadRML(read(t, file), nil)
	var wrong *rml.MappingError
	if errors.As(err, &wrong) {
		return nil, false
	}
	require.NoError(t, err)
	return d, true
}

func TestWrite_keepsTheGraphsOfTheCasesOfYARRRML(t *testing.T) {
	unsaid := map[string]error{}
	for _, file := range cases(t) {
		folder := filepath.Dir(file)
		name := filepath.Base(folder)
		d, err := yarrrml.Read(read(t, file), nil)
		require.NoError(t, err)
		require.NoError(t, trip{d, overFiles(folder, rml.Options{})}.requireSameGraph(t), name)
		if strings.HasPrefix(name, "morph-") {
			continue
		}
		d, ok := readRML(t, filepath.Join(folder, "expected.rml.ttl"))
		require.True(t, ok, name)
		if err := (trip{d, overFiles(folder, rml.Options{})}).requireSameGraph(t); err != nil {
			unsaid[name] = err
		}
	}
	requireUnsaid(t, map[string]string{}, unsaid)
}

func TestWrite_keepsTheGraphsOfTheLegacySuite(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(conformance.Dir(t, "rml-test-cases"), "RML*"))
	require.NoError(t, err)
	unsaid, said := map[string]error{}, 0
	for _, folder := range folders {
		name := filepath.Base(folder)
		d, ok := readRML(t, filepath.Join(folder, "mapping.ttl"))
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if err := (trip{d, overFiles(folder, rml.Options{})}).requireSameGraph(t); err != nil {
				unsaid[name] = err
			} else {
				said++
			}
		})
	}
	require.Equal(t, 78, said)
	requireUnsaid(t, map[string]string{
		"RMLTC0020a-CSV": `line 20, subject map of triples map <http://example.com/base/TriplesMap1>: its template "{Name}" is one reference`,
		"RMLTC0020a-XML": `its template "{Name}" is one reference`,
	}, unsaid)
}

func TestWrite_keepsTheGraphsOfTheCasesOfCARML(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(conformance.Dir(t, "carml-0.3.2"), "*.in"))
	require.NoError(t, err)
	unsaid, said := map[string]error{}, 0
	for _, file := range files {
		base := strings.TrimSuffix(file, ".in")
		name := filepath.Base(base)
		message, err := os.ReadFile(file)
		require.NoError(t, err)
		d, ok := readRML(t, base+".ttl")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, dialect := range []rml.Dialect{rml.DialectRML, rml.DialectCARML} {
				c := trip{d, func(m *rml.Mapping) ([]rdf.Quad, error) {
					require.Equal(t, rml.DialectCARML, m.Dialect())
					plan, err := rml.Compile(m, &rml.Options{Dialect: dialect})
					if err != nil {
						return nil, err
					}
					return plan.NewMapper().Quads(message)
				}}
				if err := c.requireSameGraph(t); err != nil {
					unsaid[name] = err
				} else {
					said++
				}
			}
		})
	}
	require.Equal(t, 98, said/2)
	requireUnsaid(t, map[string]string{
		"emptytemplate-iri": "has no reference and is not an absolute IRI",
		"xp-declns":         "cannot express its carml:declaresNamespace",
	}, unsaid)
}

// FuzzWrite translates mappings and compares the graphs that they generate from one message.
func FuzzWrite(f *testing.F) {
	const head = `@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix carml: <http://carml.taxonic.com/carml/> . @prefix ex: <http://ex.org/> .
ex:M rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
`
	f.Add(`rr:subjectMap [ rr:template "http://ex.org/{a}" ; rr:class ex:C ] ; rr:predicateObjectMap [ rr:predicate ex:p ;
  rr:object "ex:x~iri", "$(a)", "\\\\:", "a"@en ; rr:objectMap [ rml:reference "a" ; rr:termType rr:IRI ] ] .`)
	f.Add(`rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate <urn:x>, rr:type ; rr:graph ex:g ;
  rr:objectMap [ rr:template "{a} \\\\{{b(}" ; rr:termType rr:Literal ; rr:language "en" ], [ rr:parentTriplesMap ex:M ] ] .`)
	message := []byte(`{"a": "x y", "b(": ["1", "2"]}`)
	run := func(m *rml.Mapping) ([]rdf.Quad, error) {
		plan, err := rml.Compile(m, &rml.Options{Limits: rml.Limits{MaxStatements: 30}})
		if err != nil {
			return nil, err
		}
		return plan.NewMapper().Quads(message)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2<<10 {
			t.Skip("longer than what the fuzzer is for")
		}
		d, err := yarrrml.ReadRML([]byte(head+text), nil)
		if err == nil {
			_ = trip{d, run}.requireSameGraph(t)
		}
	})
}

// The plans of mappings of databases are compared, because they need no server.
func TestWrite_keepsThePlansOfTheDatabaseSuites(t *testing.T) {
	unsaid, said := map[string]error{}, 0
	for _, pattern := range []string{"rml-sql/RMLTC*/mapping.ttl", "r2rml/*/*.ttl"} {
		suite, rest, _ := strings.Cut(pattern, "/")
		files, err := filepath.Glob(filepath.Join(conformance.Dir(t, suite), rest))
		require.NoError(t, err)
		for _, file := range files {
			name := filepath.Base(filepath.Dir(file))
			src := bytes.ReplaceAll(read(t, file), []byte("CONNECTIONDSN"), []byte("jdbc:postgresql://localhost/test"))
			d, err := yarrrml.ReadRML(src, nil)
			if err != nil {
				continue
			}
			text, _, err := yarrrml.Write(d)
			if err != nil {
				unsaid[name] = err
				continue
			}
			back, err := yarrrml.Load(text, nil)
			require.NoError(t, err, string(text))
			mapping, err := rml.LoadStatements(d.Statements, d.Prefixes, nil)
			require.NoError(t, err)
			require.Equal(t, plan(t, mapping), plan(t, back), "%s\n%s", name, text)
			said++
		}
	}
	require.Equal(t, 174, said)
	const reason = "is one reference: in YARRRML that is the value itself"
	requireUnsaid(t, map[string]string{
		"R2RMLTC0020a-MySQL": reason, "R2RMLTC0020a-PostgreSQL": reason, "R2RMLTC0020a-SQLite": reason,
		"RMLTC0020a-MySQL": reason, "RMLTC0020a-PostgreSQL": reason,
	}, unsaid)
}

func plan(t *testing.T, m *rml.Mapping) string {
	t.Helper()
	p, err := rml.Compile(m, nil)
	require.NoError(t, err)
	names := regexp.MustCompile(`(?m)triples map \S+ \(mapping line \d+\)|, combined on stacks|, written directly`)
	lines := strings.Split(names.ReplaceAllString(p.Explain(), ""), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}
