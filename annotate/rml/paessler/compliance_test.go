package paessler_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/PaesslerAG/jsonpath"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
	"github.com/iotenablers/enablers/annotate/rml/paessler"
	"github.com/iotenablers/enablers/internal/conformance"
)

// complianceCase is one case of the JSONPath compliance suite for RFC 9535.
type complianceCase struct {
	Selector        string
	Document        json.RawMessage
	Result          []any
	Results         [][]any
	InvalidSelector bool `json:"invalid_selector"`
}

// engine selects values from a document, in any order of the members of an
// object; invalid says that it refuses the expression.
type engine func(t *testing.T, expr string, document []byte) (values []any, invalid bool)

// ARCHITECTURE.md gives the figures as the reason for the default.
func TestJSONPath_passesTheListedComplianceCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(conformance.Dir(t, "jsonpath"), "cts.json"))
	require.NoError(t, err)
	var suite struct{ Tests []complianceCase }
	require.NoError(t, json.Unmarshal(text, &suite))
	require.Len(t, suite.Tests, 703)
	for i := range suite.Tests {
		if suite.Tests[i].InvalidSelector {
			suite.Tests[i].Document = []byte("null") // it has none, and needs one if it is not refused
		}
	}
	for _, e := range []struct {
		name   string
		engine engine
		passed int
	}{
		{"the built-in engine", builtIn, 703},
		{"the library", library, 282},
		{"the evaluator", evaluator, 311},
	} {
		passed := 0
		for _, c := range suite.Tests {
			if c.passes(e.engine(t, c.Selector, c.Document)) {
				passed++
			}
		}
		assert.Equal(t, e.passed, passed, e.name)
	}
}

func (c complianceCase) passes(values []any, invalid bool) bool {
	if c.InvalidSelector || invalid {
		return c.InvalidSelector == invalid
	}
	if c.Results == nil {
		c.Results = [][]any{c.Result}
	}
	return slices.ContainsFunc(c.Results, func(want []any) bool {
		return (len(want) == 0 && len(values) == 0) || assert.ObjectsAreEqual(want, values)
	})
}

func builtIn(t *testing.T, expr string, document []byte) ([]any, bool) {
	path, err := jsondoc.Parse(expr)
	if err != nil {
		return nil, true
	}
	doc := jsondoc.New(input.Limits{}).NewDocument().(*jsondoc.Document)
	require.NoError(t, doc.Load(document))
	nodes, err := doc.Select(nil, doc.Root(), path)
	require.NoError(t, err)
	var values []any
	for _, n := range nodes {
		values = append(values, decode(t, string(doc.Raw(n))))
	}
	return values, false
}

// library is the library without this package. A path that could have several
// nodes gives a list, which the type of its value does not tell from a node
// that is a list: the case decides.
func library(t *testing.T, expr string, document []byte) ([]any, bool) {
	evaluate, err := jsonpath.New(expr)
	if err != nil {
		return nil, true
	}
	value, err := evaluate(t.Context(), decode(t, string(document)))
	if err != nil {
		return nil, false
	}
	if list, ok := value.([]any); ok && several(expr) {
		return list, false
	}
	return []any{value}, false
}

// evaluator is the evaluator of this package.
func evaluator(t *testing.T, expr string, document []byte) ([]any, bool) {
	e := paessler.JSONPath()
	selected, err := e.Compile(expr, nil)
	if err != nil {
		return nil, true
	}
	root, err := e.Parse(document)
	require.NoError(t, err)
	nodes, err := selected(root)
	require.NoError(t, err)
	var values []any
	for _, n := range nodes {
		text, kind, ok := e.Value(n)
		require.True(t, ok)
		switch kind {
		case rml.StringValue:
			values = append(values, text)
		case rml.NullValue:
			values = append(values, nil)
		default:
			values = append(values, decode(t, text))
		}
	}
	return values, false
}

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// several reports whether the library lists the nodes of a path. It does when
// the path has a wildcard, a filter, a slice, a union or a descendant.
func several(expr string) bool {
	path, err := jsondoc.Parse(expr)
	return err != nil || !path.Singular()
}
