package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions of a module are known to every command that compiles a mapping.
func TestRun_takesFunctionsOfAModule(t *testing.T) {
	const module = "../../annotate/rml/wasm/testdata/functions.wasm"
	mapping := filepath.Join(t.TempDir(), "m.ttl")
	require.NoError(t, os.WriteFile(mapping, []byte(`
@prefix rml: <http://w3id.org/rml/> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix fn: <http://example.com/fn#> .
@prefix ex: <http://example.com/> .
ex:M rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:functionExecution [
    rml:function fn:upper ; rml:input [ rml:parameter fn:text ; rml:inputValueMap [ rml:reference "$.v" ] ] ] ] ] .
`), 0o600))
	var out strings.Builder
	run := func(args ...string) error {
		out.Reset()
		return run(t.Context(), args, strings.NewReader(`{"v":"venus"}`), &out, &strings.Builder{})
	}
	require.NoError(t, run("map", "-mapping", mapping, "-functions", module))
	require.Equal(t, "<http://example.com/s> <http://example.com/p> \"VENUS\" .\n", out.String())
	require.NoError(t, run("lint", "-functions", module, mapping))
	require.NoError(t, run("explain", "-functions", module, mapping))
	require.Contains(t, out.String(), "http://example.com/fn#upper")
	for _, args := range [][]string{{"map", "-mapping", mapping}, {"lint", mapping}, {"explain", mapping}} {
		require.ErrorContains(t, run(args...), "the function <http://example.com/fn#upper> is not known")
	}
	require.ErrorContains(t, run("map", "-mapping", mapping, "-functions", mapping), "-functions: "+mapping+": wasm: module refused")
}
