package function

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNaturalDatatypesOf_namesOnlyFunctionsOfTheLibrary(t *testing.T) {
	functions := ByIRI()
	for _, name := range slices.Concat(integerFunctions, numberFunctions, booleanFunctions, dateFunctions) {
		_, grel := functions[nsGREL+name]
		_, idlab := functions[nsIDLab+name]
		require.True(t, grel || idlab, name)
	}
}
