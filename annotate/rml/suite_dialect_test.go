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

// carmlCases is how many cases the suite of CARML 0.3.2 has.
const carmlCases = 102

// carmlBetter are the cases in which the dialect carml intends another answer than CARML gave.
var carmlBetter = map[string]betterAnswer{
	"jit-empty":   {"an iterator that is left out selects the whole document, which has no v", ""},
	"jit-star":    {"CARML fails on the null among the records; no record has an id", ""},
	"jp-deep":     {"CARML fails on the objects without c", `<http://e.org/7> <http://example.org/p0> "x" .`},
	"jp-filternp": {"a filter without parentheses has one meaning, that of RFC 9535", `<http://e.org/7> <http://example.org/p0> "two" .`},
	"sub-bnsub":   {"a blank node without an expression is new for each record", `[] <http://example.org/p0> "true" .`},
	"tmpl-astral": {"CARML loses the character", `<http://e.org/1> <http://example.org/p0> <http://e.org/😀> .`},
	"tmpl-nullarr": {
		"CARML fails on the null among the values",
		`<http://e.org/1> <http://example.org/p0> <http://e.org/1>, <http://e.org/2> .`,
	},
	"xml-ws": {
		"CARML writes %a for a line feed, which is no percent-encoding, and fails",
		`<http://e.org/%0a%20%20a%20b%0a%20> <http://example.org/p0> "\n  a b\n " .`,
	},
	"xml-noiter": {
		"without an iterator the whole document is the record, and CARML fails with a NullPointerException",
		`<http://e.org/1> <http://example.org/p0> "a" .`,
	},
}

// carmlUnsaid are better answers to mappings that are not in the suite: what CARML gives, and what is
// better.
var carmlUnsaid = map[string]struct {
	dialectCase
	better betterAnswer
}{
	"constant of the term type IRI": {
		dialectCase{
			constantMapping(`rr:constant "http://schema.org/Person" ; rr:termType rr:IRI`), []byte(`{}`),
			[]byte(`<http://example.com/ns#s> <http://example.com/ns#p> "http://schema.org/Person" .`),
		},
		betterAnswer{
			"yarrrml-parser writes every class like that, and RMLMapper gives the IRI",
			`<http://example.com/ns#s> <http://example.com/ns#p> <http://schema.org/Person> .`,
		},
	},
	"decimal of ten millions": {
		dialectCase{
			[]byte(prefixes + `map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subjectMap [ rr:template "http://e.org/{v}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:decimal ] ] .`),
			[]byte(`{"v": 12345678.5}`),
			[]byte(`<http://e.org/1.23456785E7> <http://example.com/ns#p> "1.23456785E7"^^<http://www.w3.org/2001/XMLSchema#decimal> .`),
		},
		betterAnswer{
			"a decimal has no exponent (XML Schema part 2, section 3.2.3), and the IRI of a number does not change with its size",
			`<http://e.org/12345678.5> <http://example.com/ns#p> 12345678.5 .`,
		},
	},
}

func TestPlan_dialectCARML_givesBetterAnswersThanCARML(t *testing.T) {
	for name, c := range carmlUnsaid {
		t.Run(name, func(t *testing.T) {
			quads, err := c.run()
			require.Error(t, c.differs(t, quads, err), "the answer is CARML's: it must leave the list")
			c.better.check(t, quads, err)
		})
	}
}

// betterAnswer is what the engine gives in the place of CARML's answer.
type betterAnswer struct {
	reason string
	want   string // statements in Turtle, or an error that contains the text behind "error: "
}

// carmlWaiting are the cases that do not agree yet, with what each waits for.
var carmlWaiting = map[string]string{}

// TestPlan_dialectCARML_agreesWithCARML maps the message of each case in the dialect carml, as a
// channel does. A case that is listed although it agrees is a failure.
func TestPlan_dialectCARML_agreesWithCARML(t *testing.T) {
	dir := conformance.Dir(t, "carml-0.3.2")
	files, err := filepath.Glob(filepath.Join(dir, "*.in"))
	require.NoError(t, err)
	require.Len(t, files, carmlCases)
	var names []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".in")
		names = append(names, name)
		t.Run(name, func(t *testing.T) {
			c := readDialectCase(t, filepath.Join(dir, name))
			quads, err := c.run()
			differs := c.differs(t, quads, err)
			better, isBetter := carmlBetter[name]
			waits, isWaiting := carmlWaiting[name]
			switch {
			case isBetter:
				require.Error(t, differs, "the case agrees with CARML: it must leave the list of better answers")
				better.check(t, quads, err)
			case isWaiting:
				require.Error(t, differs, "the case agrees with CARML and must leave the list of those that wait for %s", waits)
			default:
				require.NoError(t, differs)
			}
		})
	}
	for name := range carmlBetter {
		require.Contains(t, names, name)
	}
	for name := range carmlWaiting {
		require.Contains(t, names, name)
	}
}

// dialectCase is a mapping, a message, and the output of CARML.
type dialectCase struct {
	mapping, message []byte
	graph            []byte // nil when CARML failed
}

func readDialectCase(t *testing.T, base string) dialectCase {
	t.Helper()
	read := func(ending string) []byte {
		data, err := os.ReadFile(base + ending)
		require.NoError(t, err)
		return data
	}
	c := dialectCase{mapping: read(".ttl"), message: read(".in")}
	if _, err := os.Stat(base + ".error"); err != nil {
		c.graph = read(".out.ttl")
	}
	return c
}

func (c dialectCase) run() ([]rdf.Quad, error) {
	loaded, err := rml.Load(c.mapping, nil)
	if err != nil {
		return nil, err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Strict: true, Dialect: rml.DialectCARML})
	if err != nil {
		return nil, err
	}
	return plan.NewMapper().Quads(c.message)
}

// differs returns how an outcome differs from CARML's. Graph names do not count: the suite has
// the results in Turtle.
func (c dialectCase) differs(t *testing.T, quads []rdf.Quad, err error) error {
	switch {
	case c.graph == nil && err == nil:
		return fmt.Errorf("CARML fails, the engine gives\n%s", writeQuads(quads))
	case c.graph == nil:
		return nil
	case err != nil:
		return err
	}
	return diffGraph(t, quads, c.graph)
}

func (b betterAnswer) check(t *testing.T, quads []rdf.Quad, err error) {
	t.Helper()
	if text, isError := strings.CutPrefix(b.want, "error: "); isError {
		require.ErrorContains(t, err, text, b.reason)
		return
	}
	require.NoError(t, err, b.reason)
	require.NoError(t, diffGraph(t, quads, []byte(b.want)), b.reason)
}

func diffGraph(t *testing.T, quads []rdf.Quad, turtle []byte) error {
	t.Helper()
	reader, err := rdf.NewReader(bytes.NewReader(turtle), rdf.Turtle, nil)
	require.NoError(t, err)
	var want []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err)
		want = append(want, q)
	}
	quads = slices.Clone(quads)
	for i := range quads {
		quads[i].Graph = rdf.Term{}
	}
	if !rdftest.Isomorphic(quads, want) {
		return fmt.Errorf("other statements:\n%s", rdftest.Diff(quads, want))
	}
	return nil
}

func writeQuads(quads []rdf.Quad) string {
	var text []byte
	for _, q := range quads {
		for _, term := range []rdf.Term{q.Subject, q.Predicate, q.Object} {
			text = append(rdf.AppendTerm(text, term), ' ')
		}
		text = append(text, ".\n"...)
	}
	return string(text)
}
