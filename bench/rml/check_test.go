package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func describeText(t *testing.T, document string, reference graph) (outcome, graph) {
	t.Helper()
	o, g, err := describe(strings.NewReader(document), reference)
	require.NoError(t, err)
	return o, g
}

func TestDescribe_ignoresOrderRepetitionAndLayout(t *testing.T) {
	ours, _ := describeText(t, "<http://e/1> <http://e/p> \"x\" .\n<http://e/2> <http://e/p> \"é\" .\n", nil)
	peers, _ := describeText(t, "<http://e/2> <http://e/p> \"\\u00E9\".\n<http://e/1>  <http://e/p> "+
		"\"x\".\n<http://e/1> <http://e/p> \"x\".\n", nil)
	require.Equal(t, ours.Digest, peers.Digest)
	require.Equal(t, 2, ours.Distinct)
	require.Equal(t, 2, ours.Written)
	require.Equal(t, 2, peers.Distinct)
	require.Equal(t, 3, peers.Written)
}

func TestDescribe_namesAStatementThatTheReferenceLacks(t *testing.T) {
	_, reference := describeText(t, "<http://e/1> <http://e/p> \"20.5\" .\n", nil)
	other, _ := describeText(t, "<http://e/1> <http://e/p> \"2.05E1\" .\n", reference)
	require.Equal(t, "<http://e/1> <http://e/p> \"2.05E1\"", strings.TrimSpace(other.Other))
	same, _ := describeText(t, "<http://e/1> <http://e/p> \"20.5\" .\n", reference)
	require.Empty(t, same.Other)
}

func TestDescribe_refusesADocumentThatIsNotRDF(t *testing.T) {
	_, _, err := describe(strings.NewReader("<http://e/1> <http://e/p> .\n"), nil)
	require.Error(t, err)
}

func TestCountLines_needsNoFinalLineEnd(t *testing.T) {
	for content, want := range map[string]int{"": 0, "\n": 0, "a": 1, "a\n": 1, "a\n\nb": 2, "a\nb\n\n": 2} {
		file := filepath.Join(t.TempDir(), "lines")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		got, err := countLines(file)
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", content)
	}
}
