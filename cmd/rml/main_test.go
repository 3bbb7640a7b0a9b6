package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

const header = `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix ex: <http://example.com/ns#> .
`

const streamMapping = header + `ex:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func rmlCommand(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	out, _, err := rmlNotes(t, stdin, args...)
	return out, err
}

// rmlNotes is rmlCommand with what is on standard error beside the failure.
func rmlNotes(t *testing.T, stdin string, args ...string) (out, notes string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = run(context.Background(), args, strings.NewReader(stdin), &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

func TestRunMap_readsTheStreamFromStandardInput(t *testing.T) {
	file := write(t, "m.ttl", streamMapping)
	out, err := rmlCommand(t, `{"id":1,"v":"x"}`, "map", "-mapping", file)
	require.NoError(t, err)
	require.Equal(t, "<http://a/1> <http://example.com/ns#p> \"x\" .\n", out)

	out, err = rmlCommand(t, "{\"id\":1,\"v\":\"x\"}\n{\"id\":2,\"v\":\"y\"}\n", "map", "-mapping", file, "-stream",
		"ndjson", "-format", "turtle")
	require.NoError(t, err)
	require.Equal(t, "@prefix ex: <http://example.com/ns#> .\n\n<http://a/1> ex:p \"x\" .\n<http://a/2> ex:p \"y\" .\n", out)
}

func TestRunMap_readsFilesBesideTheMapping(t *testing.T) {
	file := write(t, "m.ttl", header+`ex:M a rr:TriplesMap ; rml:logicalSource [ rml:source "d.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "{id}" ; rr:class ex:C ] .`)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "d.csv"), []byte("id\n1\n"), 0o600))
	out, err := rmlCommand(t, "", "map", "-mapping", file, "-base", "http://b/")
	require.NoError(t, err)
	require.Equal(t, "<http://b/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/ns#C> .\n", out)
}

// Whatever goes wrong, and however late, nothing is on standard output and one
// line says what it was.
func TestRun_reportsAFailureInOneLine(t *testing.T) {
	file := write(t, "m.ttl", streamMapping)
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"no command":        {"", nil, "expected map, lint, explain, translate, version or help"},
		"unknown command":   {"", []string{"convert"}, "expected map, lint, explain, translate, version or help"},
		"unknown flag":      {"", []string{"map", "-maping", file}, "flag provided but not defined: -maping"},
		"no mapping":        {"", []string{"map"}, "-mapping is required"},
		"missing mapping":   {"", []string{"map", "-mapping", "no.ttl"}, "no.ttl"},
		"extra argument":    {"", []string{"map", "-mapping", file, "x"}, `unexpected argument "x"`},
		"unknown format":    {"", []string{"map", "-mapping", file, "-format", "yaml"}, "-format"},
		"unknown stream":    {"", []string{"map", "-mapping", file, "-stream", "lines"}, "-stream"},
		"mapping not valid": {"", []string{"map", "-mapping", write(t, "bad.ttl", "x")}, "not valid Turtle"},
		"late in the input": {strings.Repeat("{\"id\":1,\"v\":\"x\"}\n", 100_000) + "nonsense\n",
			[]string{"map", "-mapping", file, "-stream", "ndjson"}, "line 100001: JSON line 1 column 1"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := rmlCommand(t, c.stdin, c.args...)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, out)
		})
	}
}

func TestRun_lintsAndExplains(t *testing.T) {
	file := write(t, "m.ttl", streamMapping)
	out, err := rmlCommand(t, "", "lint", file)
	require.NoError(t, err)
	require.Empty(t, out)

	out, err = rmlCommand(t, "", "lint", "-sample", write(t, "s.json", `{"id":1,"w":2}`), file)
	require.ErrorContains(t, err, "one finding")
	require.Contains(t, out, `its reference "v" has no value`)

	out, err = rmlCommand(t, "", "explain", file)
	require.NoError(t, err)
	require.Contains(t, out, "input 0: the unnamed stream, JSONPath")
}

func TestSpool_writesLargeOutputThroughAFile(t *testing.T) {
	file := write(t, "m.ttl", streamMapping)
	const line = `{"id":1,"v":"` + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + `"}` + "\n"
	out, err := rmlCommand(t, strings.Repeat(line, 100_000), "map", "-mapping", file, "-stream", "ndjson")
	require.NoError(t, err)
	require.Greater(t, len(out), spoolMemory)
	require.Equal(t, 100_000, strings.Count(out, "\n"))
}

func TestRun_printsTheVersion(t *testing.T) {
	command := func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		return run(ctx, args, strings.NewReader(""), stdout, stderr)
	}
	servertest.CheckVersion(t, "rml", command, "version", "-version", "--version")
}

func TestRun_endsWithTwoForWrongArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"mapp"}, {"map"}, {"map", "-x"}, {"map", "-mapping", "m", "-stream", "x"}, {"lint"}, {"explain"},
		{"completion"}} {
		_, err := rmlCommand(t, "", args...)
		require.Equal(t, 2, cli.Status(err), args)
	}
	_, err := rmlCommand(t, "", "explain", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, 1, cli.Status(err))
}

func TestRun_printsTheCompletionOfAShell(t *testing.T) {
	script, err := rmlCommand(t, "", "completion", "bash")
	require.NoError(t, err)
	for _, word := range []string{"-mapping", "-sample", "explain", "complete -F _rml rml"} {
		require.Contains(t, script, word)
	}
}
