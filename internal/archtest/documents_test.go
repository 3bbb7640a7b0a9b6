package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namedPath matches the path of a file or folder of the project between backticks.
var namedPath = regexp.MustCompile("`((?:annotate|apimgmt|bench|cmd|docs|examples|flcollect|internal|modelrepo|multilink|storage|test)" +
	"/[a-z0-9_./-]*[a-z0-9])`")

// A document that leads a reader to a file that has moved is worse than none.
func TestRules_documentsNameFilesThatExist(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(moduleRoot, "docs", "*.md"))
	require.NoError(t, err)
	decisions, err := filepath.Glob(filepath.Join(moduleRoot, "docs", "adr", "*.md"))
	require.NoError(t, err)
	documents = append(documents, decisions...)
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"} {
		documents = append(documents, filepath.Join(moduleRoot, name))
	}
	named := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range namedPath.FindAllSubmatch(text, -1) {
			named++
			_, err := os.Stat(filepath.Join(moduleRoot, filepath.FromSlash(string(match[1]))))
			require.NoError(t, err, "%s names %s", document, match[1])
		}
	}
	require.Greater(t, named, 200)
}

var (
	namedMetric = regexp.MustCompile(`\b(?:annotator|flcollector|gateway|modelrepo|multilink|publisher)_[a-z_]*[a-z]\b`)
	nameInCode  = regexp.MustCompile(`"([a-z][a-z0-9_]*)"`)
)

// The metrics are described by the tags of structs, see internal/exposition. A document may name only those.
func TestRules_documentsNameMetricsThatExist(t *testing.T) {
	parts := map[string]bool{}
	for _, room := range []string{"annotate", "apimgmt", "cmd", "flcollect", "modelrepo", "multilink"} {
		err := filepath.WalkDir(filepath.Join(moduleRoot, room), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range nameInCode.FindAllSubmatch(text, -1) {
				parts[string(match[1])] = true
			}
			return err
		})
		require.NoError(t, err)
	}
	require.True(t, isComposed("multilink_link_rtt_seconds", parts))
	require.False(t, isComposed("multilink_link_rtt_minutes", parts))
	documents, err := filepath.Glob(filepath.Join(moduleRoot, "docs", "*.md"))
	require.NoError(t, err)
	named := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, metric := range namedMetric.FindAllString(string(text), -1) {
			named++
			require.True(t, isComposed(metric, parts), "%s names the metric %s", document, metric)
		}
	}
	require.Greater(t, named, 10)
}

// isComposed reports whether a name is one of the parts, behind others that end with _.
func isComposed(name string, parts map[string]bool) bool {
	if parts[name] {
		return true
	}
	for at, letter := range name {
		if letter == '_' && parts[name[:at+1]] && isComposed(name[at+1:], parts) {
			return true
		}
	}
	return false
}

// The rule "words" reads Go. Documents, pages and the definitions of REST interfaces are
// held to the same words.
func TestRules_documentsUseTheWordsOfTheProject(t *testing.T) {
	read := 0
	err := filepath.WalkDir(moduleRoot, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "node_modules" || name == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || (filepath.Ext(name) != ".md" && filepath.Ext(name) != ".html" && name != "openapi.json"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for number, line := range strings.Split(string(text), "\n") {
			require.Empty(t, findIdioms(line), "%s:%d", path, number+1)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, read, 50)
}
