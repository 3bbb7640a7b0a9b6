package weather_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/examples/weather"
)

// sorted puts the statements of a graph in an order, since theirs has no
// meaning. The predicates of a graph here are all different.
func sorted(graph []rdf.Quad) []rdf.Quad {
	return slices.SortedFunc(slices.Values(graph), func(a, b rdf.Quad) int {
		return strings.Compare(a.Predicate.Value, b.Predicate.Value)
	})
}

// statements reads a graph in N-Triples.
func statements(t *testing.T, text []byte) (graph []rdf.Quad) {
	t.Helper()
	reader, err := rdf.NewReader(bytes.NewReader(text), rdf.NTriples, nil)
	require.NoError(t, err)
	for q, err := range reader.All() {
		require.NoError(t, err)
		graph = append(graph, q)
	}
	return graph
}

func TestMappings_giveTheExpectedGraphOfEveryMessage(t *testing.T) {
	for name, c := range map[string]struct {
		mapping string
		render  func([]byte, weather.Observation) []byte
	}{
		"JSON": {weather.JSONMapping(), weather.AppendJSON},
		"CSV":  {weather.CSVMapping(), weather.AppendCSV},
		"XML":  {weather.XMLMapping(), weather.AppendXML},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mapping, err := rml.Load([]byte(c.mapping), nil)
			require.NoError(t, err)
			plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NTriples})
			require.NoError(t, err)
			mapper := plan.NewMapper()
			var text []byte // of all graphs, one after the other
			var ends []int
			list := all(t)
			for _, o := range list {
				message := c.render(nil, o)
				text, err = mapper.Append(text, message)
				if err != nil {
					t.Fatalf("map %s: %v", message, err)
				}
				ends = append(ends, len(text))
			}
			for i, o := range list {
				start := 0
				if i > 0 {
					start = ends[i-1]
				}
				want := sorted(weather.Expected(o))
				if got := sorted(statements(t, text[start:ends[i]])); !slices.Equal(want, got) {
					require.Equal(t, want, got, "observation %d", i)
				}
			}
		})
	}
}
