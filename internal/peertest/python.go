package peertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// installLimit bounds how long packages may take to be installed.
const installLimit = 10 * time.Minute

// Python returns the path of a Python interpreter that has the packages, each
// pinned as "name==version". Where they are not installed yet, and the peers
// are not [Required], the test is skipped with the reason.
func Python(tb testing.TB, packages ...string) string {
	tb.Helper()
	program, err := PythonProgram(packages...)
	switch {
	case err != nil && Required():
		tb.Fatalf("a Python is demanded by %s=1: %v", RequirePeers, err)
	case err != nil:
		tb.Skipf("no Python: %v; %s=1 installs it", err, RequirePeers)
	}
	return program
}

// PythonProgram is Python outside of a test. Every set of packages, in any
// order, has a virtual environment of its own in the user's cache folder, which
// is created the first time with the python3 of the search path; that may take
// minutes and the network, and happens only when the peers are [Required].
// Another python3 creates new environments. Several processes may call it at once:
// one of them installs, the others wait for it.
func PythonProgram(packages ...string) (string, error) {
	if Excluded() {
		return "", ErrExcluded
	}
	for _, name := range packages {
		if !strings.Contains(name, "==") {
			return "", fmt.Errorf("install %s: no version is pinned", name)
		}
	}
	packages = slices.Sorted(slices.Values(packages))
	folder, err := environment(packages)
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "bin", "python")
	if complete(folder) {
		return program, nil
	}
	if !Required() {
		return "", fmt.Errorf("%s is not installed yet", describe(packages))
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(folder) { // by who held the lock
		return program, nil
	}
	if err := install(folder, packages); err != nil {
		return "", fmt.Errorf("install %s: %w", describe(packages), err)
	}
	return program, nil
}

func describe(packages []string) string {
	return strings.Join(append([]string{"Python"}, packages...), " ")
}

// environment returns the folder for the packages. Its name changes with the
// interpreter that an environment refers to.
func environment(packages []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	what, err := exec.Command("python3", "-c", "import sys; print(sys.version, sys.base_prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("ask python3 for its version: %w", said(err, nil))
	}
	sum := sha256.Sum256([]byte(string(what) + strings.Join(packages, "\n")))
	name := "python-"
	if len(packages) > 0 {
		name += strings.ReplaceAll(packages[0], "==", "-") + "-"
	}
	return filepath.Join(cache, "enablers", name+hex.EncodeToString(sum[:8])), nil
}

// complete reports whether everything was installed, and its interpreter is
// still there.
func complete(folder string) bool {
	for _, name := range []string{marker(folder), filepath.Join(folder, "bin", "python")} {
		if _, err := os.Stat(name); err != nil {
			return false
		}
	}
	return true
}

// marker is a file that is created last.
func marker(folder string) string { return filepath.Join(folder, "complete") }

// install creates the environment at its final place, since its programs contain
// their own paths. What an earlier attempt has left is removed.
func install(folder string, packages []string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installLimit)
	defer cancel()
	venv := exec.CommandContext(ctx, "python3", "-m", "venv", folder)
	if len(packages) == 0 {
		venv.Args = append(venv.Args, "--without-pip")
	}
	if output, err := venv.CombinedOutput(); err != nil {
		return said(err, output)
	}
	if len(packages) > 0 {
		pip := exec.CommandContext(ctx, filepath.Join(folder, "bin", "python"),
			append([]string{"-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"}, packages...)...)
		if output, err := pip.CombinedOutput(); err != nil {
			return said(err, output)
		}
	}
	return os.WriteFile(marker(folder), nil, 0o600)
}

// said adds to the error of a command what the command wrote.
func said(err error, output []byte) error {
	if exit := (*exec.ExitError)(nil); len(output) == 0 && errors.As(err, &exit) {
		output = exit.Stderr
	}
	if text := strings.TrimSpace(string(output)); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
