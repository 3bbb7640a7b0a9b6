package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
)

const yarrrmlMapping = `prefixes:
  ex: http://example.com/ns#
mappings:
  M:
    sources:
      - [~jsonpath, $]
    subjects: http://a/$(id)
    po:
      - ['ex:p', $(v)]
`

func TestRunTranslate_writesTheOtherNotation(t *testing.T) {
	out, err := rmlCommand(t, "", "translate", "-to", "yarrrml", write(t, "m.ttl", streamMapping))
	require.NoError(t, err)
	require.Equal(t, yarrrmlMapping, out)

	out, err = rmlCommand(t, "", "translate", "-to", "rml", write(t, "m.yml", yarrrmlMapping))
	require.NoError(t, err)
	file := write(t, "back.ttl", out)
	out, err = rmlCommand(t, `{"id":1,"v":"x"}`, "map", "-mapping", file)
	require.NoError(t, err)
	require.Equal(t, "<http://a/1> <http://example.com/ns#p> \"x\" .\n", out)
}

func TestRunTranslate_notesWhatItLeavesOut(t *testing.T) {
	out, notes, err := rmlNotes(t, "", "translate", "-to", "yarrrml",
		write(t, "m.ttl", streamMapping+"ex:M ex:comment \"mine\" .\nex:alone ex:comment \"other\" .\n"))
	require.NoError(t, err)
	require.Equal(t, yarrrmlMapping, out)
	require.Equal(t, "rml: note: mapping line 6, ex:M: its ex:comment says nothing about the graph, so it is left out\n"+
		"rml: note: mapping line 11, ex:alone: no triples map uses it, so it is left out\n", notes)
}

func TestRunTranslate_namesWhatCannotBeExpressed(t *testing.T) {
	file := write(t, "m.ttl", header+`@prefix new: <http://w3id.org/rml/> .
ex:M new:logicalSource [ new:source "d.csv" ; new:referenceFormulation new:CSV ] ; new:subject ex:s .`)
	out, err := rmlCommand(t, "", "translate", "-to", "yarrrml", file)
	require.ErrorContains(t, err, "m.ttl: mapping line 7, triples map ex:M: it is in the vocabulary http://w3id.org/rml/")
	require.Empty(t, out)

	for _, args := range [][]string{{"translate"}, {"translate", file}, {"translate", "-to", "turtle", file}, {"translate", "-to", "rml"}} {
		_, err := rmlCommand(t, "", args...)
		require.Equal(t, 2, cli.Status(err), args)
	}
	_, err = rmlCommand(t, "", "translate", "-to", "rml", filepath.Join(t.TempDir(), "absent.ttl"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
