//go:build linux

package vmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build builds a command of the module as one static file, for [Config.Files],
// and returns its path. A command that does not build fails the test.
func Build(tb testing.TB, pack string) string {
	tb.Helper()
	return build(tb, "build", pack)
}

// BuildTests builds the tests of a package as one static file, for
// [Config.Files], and returns its path. They run where they are started, not in
// the folder of their package.
func BuildTests(tb testing.TB, pack string) string {
	tb.Helper()
	return build(tb, "test", "-c", pack)
}

func build(tb testing.TB, words ...string) string {
	tb.Helper()
	skipUnlessRequired(tb)
	made := filepath.Join(tb.TempDir(), "program")
	words = append(append(words[:len(words)-1:len(words)-1], "-ldflags=-s -w", "-o", made), words[len(words)-1])
	command := exec.CommandContext(tb.Context(), "go", words...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if said, err := command.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v: %s", command, err, said)
	}
	return made
}

// findPrograms returns the paths of programs of the host, and of the libraries
// that they are linked with.
func findPrograms(names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		path, err := findProgram(name)
		if err != nil {
			return nil, err
		}
		libraries, err := libraries(path)
		if err != nil {
			return nil, err
		}
		found = append(append(found, path), libraries...)
	}
	return found, nil
}

// findProgram looks beyond PATH, where a user that is not root may lack the
// folders of programs for the administrator.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	for _, folder := range []string{"/usr/sbin", "/sbin"} {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(folder, name))
		}
	}
	return path, err
}

// libraries asks the loader of the system, which says a library a line, as
// "NAME => PATH (ADDRESS)" or, of itself, "PATH (ADDRESS)".
func libraries(program string) ([]string, error) {
	said, err := exec.Command("ldd", program).CombinedOutput()
	if strings.Contains(string(said), "not a dynamic executable") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask ldd for the libraries of %s: %w: %s", program, err, said)
	}
	var found []string
	for line := range strings.Lines(string(said)) {
		for word := range strings.FieldsSeq(line) {
			if filepath.IsAbs(word) {
				found = append(found, word)
			}
		}
	}
	return found, nil
}
