package peertest_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/internal/peertest"
)

// cache gives the test a cache folder of its own. Without a python3 that has the
// module venv the test is skipped, unless peers are required.
func cache(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the cache folder is moved as on Linux")
	}
	if peertest.Excluded() {
		t.Skip(peertest.ErrExcluded)
	}
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import venv, ensurepip").Run(); err != nil &&
		!peertest.Required() {
		t.Skipf("no python3 with venv: %v", err)
	}
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", folder)
	return folder
}

// wheel builds a package "greeting" of the version and has pip look nowhere else.
func wheel(t *testing.T, version, text string) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", folder)
	file, err := os.Create(filepath.Join(folder, "greeting-"+version+"-py3-none-any.whl"))
	require.NoError(t, err)
	defer file.Close()
	archive := zip.NewWriter(file)
	info := "greeting-" + version + ".dist-info/"
	for name, content := range map[string]string{
		"greeting.py":     "TEXT = '" + text + "'\n",
		info + "METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: " + version + "\n",
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD":   "",
	} {
		part, err := archive.Create(name)
		require.NoError(t, err)
		_, err = part.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
}

func TestPythonProgram_installsOnceAndOnlyWhereRequired(t *testing.T) {
	folder := cache(t)
	wheel(t, "1.0", "hello")
	t.Setenv(peertest.RequirePeers, "")
	_, err := peertest.PythonProgram("greeting==1.0")
	require.EqualError(t, err, "Python greeting==1.0 is not installed yet")

	t.Setenv(peertest.RequirePeers, "1")
	var both errgroup.Group
	programs := make([]string, 2)
	for i := range programs {
		both.Go(func() (err error) {
			programs[i], err = peertest.PythonProgram("greeting==1.0")
			return err
		})
	}
	require.NoError(t, both.Wait())
	require.Equal(t, programs[0], programs[1])
	require.True(t, strings.HasPrefix(programs[0], folder), programs[0])
	output, err := exec.CommandContext(t.Context(), programs[0], "-c",
		"import greeting; print(greeting.TEXT)").CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, "hello\n", string(output))

	t.Setenv(peertest.RequirePeers, "")
	require.Equal(t, programs[0], peertest.Python(t, "greeting==1.0"))
}

func TestPythonProgram_replacesAnIncompleteInstallation(t *testing.T) {
	cache(t)
	t.Setenv(peertest.RequirePeers, "1")
	program, err := peertest.PythonProgram()
	require.NoError(t, err)
	environment := filepath.Dir(filepath.Dir(program))
	require.NoError(t, os.Remove(filepath.Join(environment, "complete")))
	left := filepath.Join(environment, "left")
	require.NoError(t, os.WriteFile(left, nil, 0o600))

	t.Setenv(peertest.RequirePeers, "")
	_, err = peertest.PythonProgram()
	require.EqualError(t, err, "Python is not installed yet")
	t.Setenv(peertest.RequirePeers, "1")
	again, err := peertest.PythonProgram()
	require.NoError(t, err)
	require.Equal(t, program, again)
	require.NoFileExists(t, left)
	output, err := exec.CommandContext(t.Context(), program, "-c", "print(6*7)").CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, "42\n", string(output))
}

func TestPythonProgram_reportsWhyAnInstallationFails(t *testing.T) {
	cache(t)
	wheel(t, "1.0", "hello")
	t.Setenv(peertest.RequirePeers, "1")
	_, err := peertest.PythonProgram("greeting==2.0")
	require.ErrorContains(t, err, "install Python greeting==2.0")
	require.ErrorContains(t, err, "No matching distribution found")

	_, err = peertest.PythonProgram("greeting")
	require.EqualError(t, err, "install greeting: no version is pinned")

	t.Setenv("PATH", t.TempDir())
	_, err = peertest.PythonProgram()
	require.ErrorIs(t, err, exec.ErrNotFound)
}
