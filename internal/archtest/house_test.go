package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var write = flag.Bool("write", false, "print the list of packages into "+packagesFile)

// moduleRoot is the folder of this module.
const moduleRoot = "../.."

func TestRules_holdForThisModule(t *testing.T) {
	house, err := loadTree(os.DirFS(moduleRoot))
	require.NoError(t, err)
	require.Equal(t, "github.com/iotenablers/enablers", house.module)
	house.links, err = loadLinks(moduleRoot)
	require.NoError(t, err)

	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.check(house) {
				t.Error(r.explain(f))
			}
		})
	}
}

func TestImportTable_everyGrantIsUsed(t *testing.T) {
	house, err := loadTree(os.DirFS(moduleRoot))
	require.NoError(t, err)
	for _, f := range unusedGrants(house) {
		t.Errorf("%s: %s: take it out of internal/archtest/table.go", f.at, f.what)
	}
}

func TestPrintPackages_isTheListInTheDocuments(t *testing.T) {
	house, err := loadTree(os.DirFS(moduleRoot))
	require.NoError(t, err)
	name, printed := filepath.Join(moduleRoot, packagesFile), printPackages(house)
	if *write {
		require.NoError(t, os.WriteFile(name, []byte(printed), 0o644))
		return
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, printed == string(text), "%s is not what the package comments say: go test ./internal/archtest -write", packagesFile)
}

func TestUnusedGrants_listsRowsAndImportsWithoutUse(t *testing.T) {
	found := unusedGrants(load(t, nil))
	require.Contains(t, found, finding{"annotate", "nothing imports annotate/rml"})
	require.Contains(t, found, finding{"annotate/rdf/rdf2go", "no package has this row"})
	require.NotContains(t, found, finding{"storage", "no package has this row"})
}
