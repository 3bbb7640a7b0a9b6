package rig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// workingFolder returns where a benchmark works that is started in a folder.
func workingFolder(t *testing.T, folder string) string {
	self, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), role+"=benchmark")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return resolved(t, strings.TrimSpace(string(output)))
}

// resolved returns the path without symbolic links.
func resolved(t *testing.T, path string) string {
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

func TestMain_worksInTheRootOfTheProject(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	root := resolved(t, filepath.Join(here, "..", "..", ".."))
	require.FileExists(t, filepath.Join(root, "go.mod"))
	for _, folder := range []string{here, filepath.Join(root, "bench"), root} {
		require.Equal(t, root, workingFolder(t, folder))
	}
}

func TestMain_staysOutsideOfTheProject(t *testing.T) {
	folder := resolved(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module example.org/other\n"), 0o600))
	require.Equal(t, folder, workingFolder(t, folder))
}

func TestCommand_isThatOfTheRoot(t *testing.T) {
	require.Regexp(t, `^go run -C bench \./siege( |$)`, rig.Command("siege"))
}
