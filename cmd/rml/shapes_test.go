package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
)

const untilShapes = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.com/ns#> .
ex:Until sh:targetSubjectsOf ex:until ;
  sh:property [ sh:path ex:page ; sh:minCount 1 ; sh:message "no page" ; sh:severity sh:Warning ],
    [ sh:path ex:until ; sh:maxCount 1 ; sh:message "several ends" ] .
`

func TestRunMap_shapes_holdTheOutputBack(t *testing.T) {
	file, shapes := write(t, "m.ttl", datedMapping), write(t, "s.ttl", untilShapes)
	const good = `{"list":[{"id":1,"until":"2022-05-01T00:00:00Z"}]}`
	const bad = `{"list":[{"id":1,"until":["2022-05-01T00:00:00Z","2023-05-01T00:00:00Z"],"page":"http://b"}]}`
	for _, format := range []string{"ntriples", "nquads", "turtle", "trig"} {
		out, notes, err := rmlNotes(t, good, "map", "-mapping", file, "-shapes", shapes, "-format", format)
		require.NoError(t, err)
		require.Contains(t, out, "2022-05-01")
		require.Contains(t, notes, "rml: warning: <http://a/1> <http://example.com/ns#page>: no page (shape on line 3)\n")

		out, notes, err = rmlNotes(t, bad, "map", "-mapping", file, "-shapes", shapes, "-format", format)
		require.EqualError(t, err, "the output violates the shapes of "+shapes+" (violations: 1)")
		require.Equal(t, 1, cli.Status(err))
		require.Empty(t, out)
		require.Equal(t, "rml: violation: <http://a/1> <http://example.com/ns#until>: several ends (shape on line 4)\n", notes)
	}
	_, notes, err := rmlNotes(t, `{"list":[]}`, "map", "-mapping", file, "-shapes", shapes)
	require.NoError(t, err)
	require.Contains(t, notes, "select no node of the output")
}

func TestRunMap_shapes_areCheckedFirst(t *testing.T) {
	file := write(t, "m.ttl", datedMapping)
	_, _, err := rmlNotes(t, "", "map", "-mapping", file, "-shapes", write(t, "s.ttl", "x"), "-format", "jsonld")
	require.ErrorContains(t, err, "-shapes: -format must be one of ntriples, nquads, turtle, trig, got ")
	require.Equal(t, 2, cli.Status(err))
	for text, want := range map[string]string{
		untilShapes + "ex:S sh:targetNode ex:a ; sh:minCont 1 .":                    "line 5: shape <http://example.com/ns#S>: sh:minCont",
		"@prefix sh: <http://www.w3.org/ns/shacl#> . <http://a/S> sh:minLength 1 .": "no shape has a target",
	} {
		_, _, err = rmlNotes(t, `{"list":[]}`, "map", "-mapping", file, "-shapes", write(t, "s.ttl", text))
		require.ErrorContains(t, err, want)
	}
	_, _, err = rmlNotes(t, "", "map", "-mapping", file, "-shapes", "missing.ttl")
	require.ErrorContains(t, err, "read shapes: open missing.ttl")
}

// What does not fit into memory is read back from the file.
func TestSpool_reader_readsAll(t *testing.T) {
	s := &spool{}
	defer s.remove()
	half := strings.Repeat("x", spoolMemory/2+1)
	for range 3 {
		_, err := s.Write([]byte(half))
		require.NoError(t, err)
	}
	require.NotNil(t, s.file)
	for range 2 {
		r, err := s.reader()
		require.NoError(t, err)
		read, err := io.Copy(io.Discard, r)
		require.NoError(t, err)
		require.Equal(t, int64(3*len(half)), read)
	}
	var copied strings.Builder
	require.NoError(t, s.copyTo(&copied))
	require.Equal(t, 3*len(half), copied.Len())
}
