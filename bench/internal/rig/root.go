package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// project is the module in the root of the project.
const project = "github.com/iotenablers/enablers"

// enterRoot makes the root of the project the working folder. The benchmarks name
// what they build, what they read and where the record goes from there, and `go run
// -C bench` starts them in the folder bench. A contender that is started elsewhere,
// outside of the project, stays where it is.
func enterRoot() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("find the root of the project: %w", err)
		}
		if first, _, _ := strings.Cut(string(text), "\n"); strings.TrimSpace(first) == "module "+project {
			return os.Chdir(dir)
		}
		above := filepath.Dir(dir)
		if above == dir {
			return nil
		}
		dir = above
	}
}
