package anydoc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/anydoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
)

// numbers is an engine over the numbers below the one that stands for a node:
// from n the expression "all" selects 0 to n-1, and "pair" is a list of two.
func numbers() anydoc.Engine {
	return anydoc.Engine{
		Whole: "all",
		Parse: func(data []byte) (any, error) { return len(data), nil },
		Compile: func(expr string, namespaces map[string]string) (func(any) ([]any, error), error) {
			if expr == "iri of p" {
				return func(any) ([]any, error) { return []any{namespaces["p"]}, nil }, nil
			}
			if expr != "all" && expr != "pair" && expr != "panic" {
				return nil, errors.New("unknown")
			}
			return func(node any) (found []any, err error) {
				if expr == "pair" {
					return []any{[]any{node, node}}, nil
				}
				if expr == "panic" {
					panic(node)
				}
				for i := range node.(int) {
					found = append(found, i)
				}
				return found, nil
			}, nil
		},
		Value: func(node any) (string, input.Kind, bool) {
			if _, list := node.([]any); list {
				return fmt.Sprint(node), input.Object, true
			}
			return fmt.Sprint(node), input.Integer, node != 1
		},
		Elements:   func(node any) ([]any, bool) { list, ok := node.([]any); return list, ok },
		Namespaces: map[string]string{"p": "http://p/"},
	}
}

func load(t *testing.T, limits input.Limits, text string) (*anydoc.Compiler, input.Document) {
	t.Helper()
	c := anydoc.New(numbers(), jsondoc.New(limits), limits)
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte(text)))
	return c, doc
}

func compile(t *testing.T, c *anydoc.Compiler, expr string) input.Path {
	t.Helper()
	p, err := c.CompileReference(expr)
	require.NoError(t, err)
	require.Equal(t, expr, p.String())
	return p
}

func TestDocument_returnsTheRecordsAndValuesOfTheEngine(t *testing.T) {
	c, doc := load(t, input.Limits{}, "[ ]") // three bytes
	all, err := c.CompileIterator("")
	require.NoError(t, err)
	require.Empty(t, all.String(), "as it was written")
	records, err := doc.Records(nil, all)
	require.NoError(t, err)
	require.Len(t, records, 3)
	values, err := doc.Values(nil, records[2], compile(t, c, "all"))
	require.NoError(t, err)
	require.Equal(t, []input.Value{{Text: []byte("0"), Kind: input.Integer, Node: records[2]}}, values, "1 is no value")
	values, err = doc.Values(nil, records[2], compile(t, c, "iri of p"))
	require.NoError(t, err)
	require.Equal(t, "http://p/", string(values[0].Text))
}

func TestDocument_Items_returnsTheElementsOfArrays(t *testing.T) {
	c, doc := load(t, input.Limits{}, "[ ]")
	all, err := c.CompileIterator("")
	require.NoError(t, err)
	records, err := doc.Records(nil, all)
	require.NoError(t, err)
	values, err := doc.Values(nil, records[2], compile(t, c, "pair"))
	require.NoError(t, err)
	require.Len(t, values, 1)
	require.Equal(t, input.Array, values[0].Kind)
	require.Equal(t, `value 1 of "pair" in record 3 of all`, doc.Place(values[0].Node))
	elements := doc.(*anydoc.Document).Elements(nil, values[0].Node)
	require.Len(t, elements, 2)
	require.Equal(t, "2", string(elements[1].Text))
	require.Empty(t, doc.(*anydoc.Document).Elements(nil, records[2]), "no array")
	require.Empty(t, doc.(*anydoc.Document).Elements(nil, 99))
	require.Equal(t, "all", doc.Place(0))
	require.Equal(t, "", doc.Place(99))
}

func TestDocument_Values_keepsScalarsOutOfTheTable(t *testing.T) {
	c, doc := load(t, input.Limits{MaxNodes: 8}, "[     ]")
	all, err := c.CompileIterator("")
	require.NoError(t, err)
	records, err := doc.Records(nil, all)
	require.NoError(t, err)
	for range 100 {
		_, err = doc.Values(nil, records[6], compile(t, c, "all"))
		require.NoError(t, err)
	}
	_, err = doc.Values(nil, records[6], compile(t, c, "pair"))
	require.ErrorContains(t, err, `evaluate "pair": more than 8 records and composite values were selected`)
	_, err = doc.Records(nil, all)
	require.ErrorContains(t, err, "more than 8 records")
}

func TestDocument_namesTheExpressionOfErrorsAndPanics(t *testing.T) {
	c, doc := load(t, input.Limits{}, "[]")
	_, err := c.CompileReference("other")
	require.EqualError(t, err, `compile reference "other": unknown`)
	_, err = c.CompileIterator("other")
	require.EqualError(t, err, `compile iterator "other": unknown`)
	_, err = c.CompileReference("")
	require.ErrorContains(t, err, "empty")
	_, err = doc.Values(nil, 0, compile(t, c, "panic"))
	require.EqualError(t, err, `evaluate "panic": the evaluator panicked: 2`)
	_, err = doc.Values(nil, 7, compile(t, c, "all"))
	require.ErrorContains(t, err, "no such node")
	other, _ := load(t, input.Limits{}, "[]")
	_, err = doc.Values(nil, 0, compile(t, other, "all"))
	require.ErrorContains(t, err, "another source")
	_, err = doc.Records(nil, nil)
	require.ErrorContains(t, err, "another source")
}

func TestDocument_Load_checksBeforeTheEngineParses(t *testing.T) {
	c, doc := load(t, input.Limits{MaxDepth: 5}, "[]")
	var syntax *input.SyntaxError
	require.ErrorAs(t, doc.Load([]byte("[1,]")), &syntax)
	require.Equal(t, 4, syntax.Column)
	require.ErrorAs(t, doc.Load([]byte(strings.Repeat("[", 9)+strings.Repeat("]", 9))), &syntax)
	_, err := doc.Values(nil, 0, compile(t, c, "all"))
	require.ErrorContains(t, err, "no such node", "the document is empty after an error")
}
