package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var write = flag.Bool("write", false, "print the import table into ARCHITECTURE.md")

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

func TestImportTable_isPrintedIntoTheArchitecture(t *testing.T) {
	name := filepath.Join(moduleRoot, "ARCHITECTURE.md")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	printed, err := withTable(string(text))
	require.NoError(t, err)
	if *write {
		require.NoError(t, os.WriteFile(name, []byte(printed), 0o644))
		return
	}
	require.True(t, printed == string(text), "ARCHITECTURE.md has another import table: go test ./internal/archtest -write")
}

func TestUnusedGrants_listsRowsAndImportsWithoutUse(t *testing.T) {
	found := unusedGrants(load(t, nil))
	require.Contains(t, found, finding{"annotate", "nothing imports annotate/rml"})
	require.Contains(t, found, finding{"annotate/rdf/rdf2go", "no package has this row"})
	require.NotContains(t, found, finding{"storage", "no package has this row"})
}
