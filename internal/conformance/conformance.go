// Package conformance finds the public test suites that tests of this module
// are held to. They are data that lies outside the module: in the folder that
// the environment variable CONFORMANCE names, or else in shared/conformance
// beside the module.
package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of a suite, such as "rml-core" or "w3c/turtle". It
// skips the test, saying why, when the suite is not on this machine.
func Dir(t testing.TB, suite string) string {
	t.Helper()
	root := os.Getenv("CONFORMANCE")
	if root == "" {
		root = filepath.Join(moduleRoot(t), "..", "shared", "conformance")
	}
	dir := filepath.Join(root, filepath.FromSlash(suite))
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the suite %s is not here (%v): set CONFORMANCE to the folder that holds the suites", suite, err)
	}
	return dir
}

// moduleRoot walks up from the folder of the test to the one with go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("find the module: no go.mod above the folder of the test")
		}
		dir = parent
	}
}
