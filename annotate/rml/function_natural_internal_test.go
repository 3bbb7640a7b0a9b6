package rml

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNaturalDatatypesOf_namesOnlyFunctionsThatThereAre(t *testing.T) {
	functions := functionsByIRI(nil)
	for _, name := range slices.Concat(integerFunctions, numberFunctions, booleanFunctions, dateFunctions) {
		require.True(t, functions[nsGREL+name] != nil || functions[nsIDLab+name] != nil, name)
	}
}
