package strategy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// The steps of CONTRIBUTING.md for a strategy: what a person reads about it.
func TestNames_areDescribedInFormsAndDocuments(t *testing.T) {
	reference := read(t, "../../docs/flcollect-reference.md")
	document := read(t, "../rest/openapi.json")
	for _, name := range strategy.Names() {
		d, ok := strategy.Describe(name)
		require.True(t, ok, name)
		require.NotEmpty(t, d.Meaning, "%s has no meaning in builtins", name)
		for _, p := range d.Parameters {
			require.NotEmpty(t, p.Meaning, "the parameter %s of %s has no meaning in parameterMeanings", p.Name, name)
			require.True(t, strings.Contains(document, `"`+p.Name+`"`), "flcollect/rest/openapi.json lacks the parameter %s of %s", p.Name, name)
		}
		require.True(t, strings.Contains(reference, "`"+name+"`"), "docs/flcollect-reference.md does not name %s", name)
		require.True(t, strings.Contains(document, name), "flcollect/rest/openapi.json does not name %s", name)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
