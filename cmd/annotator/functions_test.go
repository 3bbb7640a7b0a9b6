package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mappings call the functions of the modules that the operator names.
func TestRun_offersFunctionsOfModules(t *testing.T) {
	a := start(t, t.TempDir(), "-functions", "../../annotate/rml/wasm/testdata")
	request, err := json.Marshal(map[string]any{"sample": `{"v":"venus"}`, "inputFormat": "JSON", "outputFormat": "NTRIPLES", "mapping": `
@prefix rml: <http://w3id.org/rml/> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix fn: <http://example.com/fn#> .
@prefix ex: <http://example.com/> .
ex:M rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:functionExecution [
    rml:function fn:upper ; rml:input [ rml:parameter fn:text ; rml:inputValueMap [ rml:reference "$.v" ] ] ] ] ] .
`})
	require.NoError(t, err)
	answer, err := http.Post(a.url+"/ui/annotation/workbench/run", "application/json", strings.NewReader(string(request)))
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
	require.Contains(t, string(body), "VENUS")
	require.NoError(t, a.stop())
}

func TestRun_refusesAFunctionModuleThatIsNone(t *testing.T) {
	args := []string{"-listen", "127.0.0.1:0", "-data", t.TempDir(), "-functions", "functions_test.go"}
	err := run(t.Context(), args, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-functions: functions_test.go: wasm: module refused")
}
