package attack_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme_namesTheTests looks for every test that the README names, and in the README for every test of
// this folder but this one.
func TestReadme_namesTheTests(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || (entry.IsDir() && entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || (!strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".test.js")) {
			return nil
		}
		declared[entry.Name()] = true
		code, err := os.ReadFile(path)
		for _, found := range declaration.FindAllStringSubmatch(string(code), -1) {
			declared[found[1]] = true
		}
		return err
	}))
	inFolder, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, name := range inFolder {
		code, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, found := range declaration.FindAllStringSubmatch(string(code), -1) {
			if found[1] != "TestMain" && found[1] != t.Name() {
				require.True(t, strings.Contains(string(text), "`"+found[1]+"`"), "%s of %s is not in the README", found[1], name)
			}
		}
	}
	named := regexp.MustCompile("`((?:Test\\w+)|(?:\\w+\\.test\\.js))`").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(named), 40)
	for _, name := range named {
		require.True(t, declared[name[1]], "%s is nowhere", name[1])
	}
}
