package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// backticked matches what stands between backticks.
var backticked = regexp.MustCompile("`([^`]+)`")

// readStages returns the stages of a script of the gate.
func readStages(t *testing.T, script string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, ".ci", script))
	require.NoError(t, err)
	known := regexp.MustCompile(`(?s)\nknown="([^"]+)"`).FindSubmatch(text)
	require.NotNil(t, known, ".ci/%s has no list of its stages", script)
	return strings.Fields(string(known[1]))
}

// tableRows returns the cells of the rows of the table below a heading of CONTRIBUTING.md.
func tableRows(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "CONTRIBUTING.md"))
	require.NoError(t, err)
	_, below, found := strings.Cut(string(text), heading+"\n")
	require.True(t, found, "CONTRIBUTING.md has no heading %q", heading)
	var rows [][]string
	for line := range strings.Lines(below) {
		switch cells := strings.Split(strings.TrimSpace(line), "|"); {
		case strings.HasPrefix(line, "#"):
			return rows
		case strings.HasPrefix(line, "| `"):
			rows = append(rows, cells[1:len(cells)-1])
		}
	}
	return rows
}

func names(cell string) []string {
	var found []string
	for _, match := range backticked.FindAllStringSubmatch(cell, -1) {
		found = append(found, match[1])
	}
	return found
}

func TestRules_gateIsDocumentedByStage(t *testing.T) {
	var run, full []string
	for _, row := range tableRows(t, "## The gate") {
		require.Len(t, row, 3)
		full = append(full, names(row[0])...)
		if strings.TrimSpace(row[1]) != "" {
			run = append(run, names(row[0])...)
		}
	}
	require.ElementsMatch(t, readStages(t, "run"), run)
	require.ElementsMatch(t, readStages(t, "full"), full)
}

// A row that names a path that has moved would let a change pass unseen.
func TestRules_changesTouchStagesThatExist(t *testing.T) {
	stages := readStages(t, "full")
	rows := tableRows(t, "### What a change touches")
	require.NotEmpty(t, rows)
	var patterns []string
	for _, row := range rows {
		require.Len(t, row, 2)
		require.Subset(t, stages, names(row[1]), "row %s", row[0])
		patterns = append(patterns, names(row[0])...)
	}
	for _, pattern := range patterns {
		if !strings.Contains(pattern, "*") {
			_, err := os.Stat(filepath.Join(moduleRoot, filepath.FromSlash(pattern)))
			require.NoError(t, err, "a row names %s", pattern)
		}
	}
}

func TestRules_touchedStagesAreNamed(t *testing.T) {
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the gate needs %s: %v", program, err)
		}
	}
	folder := t.TempDir()
	in := func(program string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = folder
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", program, arguments, output)
		return string(output)
	}
	put := func(name string, text []byte) {
		full := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o700))
		require.NoError(t, os.WriteFile(full, text, 0o600))
	}
	for _, name := range []string{".ci/touched", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(moduleRoot, filepath.FromSlash(name)))
		require.NoError(t, err)
		put(name, text)
	}
	in("git", "init", "-q")
	in("git", "add", ".")
	in("git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", "test: begin")
	require.Contains(t, in("bash", ".ci/touched"), "no other stage")

	put("LICENSE", nil)
	require.Contains(t, in("bash", ".ci/touched"), "no other stage")
	put("storage/disk/blob.go", nil)
	require.Regexp(t, `bash \.ci/full faults fuzz images platforms race stores takeover\n$`, in("bash", ".ci/touched", "HEAD"))
}

func TestRules_racedPackagesHaveAReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleRoot, ".ci", "raced"))
	require.NoError(t, err)
	raced := 0
	for line := range strings.Lines(string(text)) {
		folder, reason, _ := strings.Cut(strings.TrimSpace(line), "#")
		if folder = strings.TrimSpace(folder); folder == "" {
			continue
		}
		raced++
		require.NotEmpty(t, strings.TrimSpace(reason), "%s is raced without a reason", folder)
		tests, err := fs.Glob(os.DirFS(moduleRoot), path.Join(folder, "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, tests, "%s has no test to race", folder)
	}
	require.Greater(t, raced, 10)
}
