package jsondoc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
	"github.com/iotenablers/enablers/internal/conformance"
)

// newDocument returns an empty document and its compiler.
func newDocument(limits input.Limits) (*jsondoc.Compiler, *jsondoc.Document) {
	c := jsondoc.New(limits)
	return c, c.NewDocument().(*jsondoc.Document)
}

type complianceCase struct {
	Name            string
	Selector        string
	Document        json.RawMessage
	Result          []json.RawMessage
	Results         [][]json.RawMessage
	ResultPaths     []string   `json:"result_paths"`
	ResultsPaths    [][]string `json:"results_paths"`
	InvalidSelector bool       `json:"invalid_selector"`
}

func TestDocument_Select_passesTheComplianceSuite(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(conformance.Dir(t, "jsonpath"), "cts.json"))
	require.NoError(t, err)
	var suite struct{ Tests []complianceCase }
	require.NoError(t, json.Unmarshal(text, &suite))
	require.Len(t, suite.Tests, 703)
	_, doc := newDocument(input.Limits{})
	for _, c := range suite.Tests {
		t.Run(c.Name, func(t *testing.T) {
			p, err := jsondoc.Parse(c.Selector)
			if c.InvalidSelector {
				var bad *jsondoc.PathError
				require.ErrorAs(t, err, &bad, "selector %s", c.Selector)
				require.Equal(t, c.Selector, bad.Expr)
				require.LessOrEqual(t, bad.Offset, len(c.Selector))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.Selector, p.String())
			require.NoError(t, doc.Load(c.Document))
			nodes, err := doc.Select(nil, doc.Root(), p)
			require.NoError(t, err)
			if c.Results == nil {
				c.Results = [][]json.RawMessage{c.Result}
				c.ResultsPaths = [][]string{c.ResultPaths}
			}
			got, paths := []any{}, []string{}
			for _, n := range nodes {
				got = append(got, decode(t, doc.Raw(n)))
				paths = append(paths, doc.NormalizedPath(n))
			}
			at := -1
			for i, paths := range c.ResultsPaths {
				want := []any{}
				for _, r := range c.Results[i] {
					want = append(want, decode(t, r))
				}
				if assert.ObjectsAreEqual(want, got) && samePaths(doc, nodes, paths) {
					at = i
				}
			}
			require.GreaterOrEqual(t, at, 0, "selector %s gave %v at %v, want %v", c.Selector, got, paths, c.ResultsPaths)
		})
	}
}

func samePaths(doc *jsondoc.Document, nodes []input.Node, want []string) bool {
	if len(nodes) != len(want) {
		return false
	}
	for i, n := range nodes {
		if doc.NormalizedPath(n) != want[i] {
			return false
		}
	}
	return true
}

func decode(t *testing.T, text []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}
