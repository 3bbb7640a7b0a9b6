package interop_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/examples/weather"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// rapper returns the command of the Raptor RDF library, a reader that
// shares no code with this project.
func rapper(t *testing.T) string {
	t.Helper()
	if peertest.Excluded() {
		t.Skip(peertest.ErrExcluded)
	}
	program, err := exec.LookPath("rapper")
	if err == nil {
		return program
	}
	if peertest.Required() {
		t.Fatalf("rapper is not installed and %s=1 demands it", peertest.RequirePeers)
	}
	t.Skip("rapper is not installed: it is in Debian's package raptor2-utils")
	return ""
}

// What the mapper writes in each syntax, another library reads as the graph
// that was meant.
func TestMap_outputIsReadByAnotherLibrary(t *testing.T) {
	reader, program := rapper(t), interop.Build(t, "rml")
	var observation weather.Observation
	for o, err := range weather.Observations() {
		require.NoError(t, err)
		observation = o
		break
	}
	for _, f := range formats {
		mapping := filepath.Join(t.TempDir(), "mapping.ttl")
		require.NoError(t, os.WriteFile(mapping, []byte(f.mapping), 0o600))
		for format, known := range map[string]string{
			"ntriples": "ntriples", "nquads": "nquads", "turtle": "turtle", "trig": "trig", "rdfxml": "rdfxml",
			"rdfjson": "json",
		} {
			t.Run(f.name+" to "+format, func(t *testing.T) {
				mapper := exec.Command(program, "map", "-mapping", mapping, "-format", format)
				mapper.Stdin = bytes.NewReader(f.render(nil, observation))
				written, err := mapper.Output()
				require.NoError(t, err)

				var said bytes.Buffer
				read := exec.Command(reader, "-q", "-i", known, "-o", "ntriples", "-I", "http://example.com/", "-")
				read.Stdin, read.Stderr = bytes.NewReader(written), &said
				statements, err := read.Output()
				require.NoError(t, err, "%s\nreading:\n%s", said.String(), written)

				got, want := parseLines(t, statements), weather.Expected(observation)
				require.True(t, rdftest.Isomorphic(got, want), rdftest.Diff(got, want))
			})
		}
	}
}

func parseLines(t *testing.T, text []byte) []rdf.Quad {
	t.Helper()
	reader, err := rdf.NewReader(strings.NewReader(string(text)), rdf.NTriples, nil)
	require.NoError(t, err)
	var graph []rdf.Quad
	for q, err := range reader.All() {
		require.NoError(t, err)
		graph = append(graph, q)
	}
	return graph
}
