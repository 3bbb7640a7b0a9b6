package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// namedPath matches the path of a file or folder of this module between backticks.
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
