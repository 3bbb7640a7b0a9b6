// Package mappingfunctions loads the WebAssembly modules with functions of mappings that an operator names
// to a command.
package mappingfunctions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
)

// Usage describes the flag of a command that names modules to [Open].
const Usage = "the WebAssembly `modules` with functions of mappings, with commas: files, or folders with files ending in .wasm"

// Set is the functions of some modules. The zero value has none.
type Set struct {
	functions []rml.Function
	modules   []io.Closer
}

// Open compiles modules with the default bounds. The paths have commas between; each is a module, or a
// folder whose files ending in .wasm are modules. Empty means none. A function that two modules have is
// an error.
func Open(ctx context.Context, paths string) (*Set, error) {
	s := &Set{}
	files, err := findFiles(paths)
	from := map[string]string{} // the file of a function
	for _, file := range files {
		if err = s.open(ctx, file, from); err != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// findFiles returns the modules that paths name.
func findFiles(paths string) ([]string, error) {
	var files []string
	for path := range strings.SplitSeq(paths, ",") {
		if path = strings.TrimSpace(path); path == "" {
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil { // a file, or nothing, which add says
			files = append(files, path)
			continue
		}
		before := len(files)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".wasm") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("the folder %s has no file that ends in .wasm", path)
		}
	}
	return files, nil
}

// open compiles the module of a file. from has the files of the functions so far.
func (s *Set) open(ctx context.Context, file string, from map[string]string) error {
	binary, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	module, functions, err := compile(ctx, binary)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.modules = append(s.modules, module)
	for _, f := range functions {
		if other, isTwice := from[f.IRI]; isTwice {
			return fmt.Errorf("%s and %s both have the function <%s>", other, file, f.IRI)
		}
		from[f.IRI] = file
		s.functions = append(s.functions, f)
	}
	return nil
}

// Functions returns the functions, for rml.Options.Functions.
func (s *Set) Functions() []rml.Function { return s.functions }

// Close frees the modules, whose functions fail from then on.
func (s *Set) Close() error {
	var errs []error
	for _, m := range s.modules {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
