package stores_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettings_Open_acceptsADriverAddedByTheRecipe follows "Adding a storage driver" in CONTRIBUTING.md: the files below
// testdata/recipe are laid over the project, the driver gets its row, and its tests run.
func TestSettings_Open_acceptsADriverAddedByTheRecipe(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	overlay := map[string]string{}

	// Steps 1 to 3: the package and its tests.
	recipe := filepath.Join(here, "testdata", "recipe")
	require.NoError(t, filepath.WalkDir(recipe, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			overlay[filepath.Join(root, strings.TrimPrefix(name, recipe))] = name
		}
		return err
	}))
	// Step 5: one row.
	rows := filepath.Join("drivers", "drivers.go")
	row := filepath.Join(t.TempDir(), "drivers.go")
	source, err := os.ReadFile(rows)
	require.NoError(t, err)
	const before = "\t\ts3Driver(),\n"
	require.Equal(t, 1, strings.Count(string(source), before))
	require.NoError(t, os.WriteFile(row, []byte(strings.Replace(string(source), before, "\t\tjournalDriver(),\n"+before, 1)), 0o600))
	overlay[filepath.Join(here, rows)] = row

	data, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	for _, of := range []string{"./storage/journal", "./cmd/internal/stores/drivers"} {
		program := filepath.Join(t.TempDir(), "program.test")
		run(t, root, "go", "test", "-c", "-vet=off", "-overlay", file, "-tags", "no_mongodb,no_s3", "-o", program, of)
		require.Contains(t, run(t, t.TempDir(), program, "-test.v"), "--- PASS: Test")
	}
}

// run runs a command in a folder, and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
