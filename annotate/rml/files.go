package rml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Files opens what a mapping reads and creates what it writes. Each function
// may be nil when the mapping needs none.
type Files struct {
	// Open opens a source for reading. [Mapper.Run] unpacks and closes it.
	Open func(Source) (io.ReadCloser, error)
	// Fetch requests a source on the web: an endpoint, a thing, or a file whose name begins
	// with http:// or https://. Nil means that such a file is opened by Open and the others are
	// an error. [Mapper.Run] closes what it returns. Package web has a client.
	Fetch func(context.Context, Source) (io.ReadCloser, error)
	// Create creates a target. [Mapper.Run] packs what it writes to it.
	Create func(Target) (TargetWriter, error)
	// Query opens the rows of a table or query. [Mapper.Run] closes them before it
	// returns.
	Query func(context.Context, Query) (Rows, error)
}

// isWeb reports whether the name of a source is an address of the web.
func isWeb(name string) bool {
	scheme, _, found := strings.Cut(strings.ToLower(name), "://")
	return found && (scheme == "http" || scheme == "https")
}

// LocalFiles returns the files of a mapping in the folder dir. Paths relative
// to the working directory and absolute paths are used unchanged. Streams are
// read from stdin, which is an error when it is nil. A source on the web (http://, https://)
// is an error: it is not fetched. The file of a target
// appears complete or not at all.
func LocalFiles(dir string, stdin io.Reader) Files {
	resolve := func(name string, workingDirectory bool) string {
		if workingDirectory || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	return Files{
		Open: func(s Source) (io.ReadCloser, error) {
			switch {
			case s.Kind == SourceStream && stdin == nil:
				return nil, fmt.Errorf("open %s: no such input", s)
			case s.Kind == SourceStream:
				return io.NopCloser(stdin), nil
			case isWeb(s.Name):
				return nil, fmt.Errorf("open %s: sources on the web are not fetched; "+
					"allow it (rml map: -network), or download it and name the local file", s)
			}
			return os.Open(resolve(s.Name, s.WorkingDirectory))
		},
		Create: func(t Target) (TargetWriter, error) {
			return newTargetFile(resolve(t.Name, t.WorkingDirectory))
		},
	}
}

// targetFile is a temporary file in the folder of the target.
type targetFile struct {
	*os.File
	name string
	done bool
}

func newTargetFile(name string) (*targetFile, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, err
	}
	return &targetFile{File: f, name: name}, nil
}

// Commit renames the file to the name of the target.
func (f *targetFile) Commit() error {
	f.done = true
	err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		os.Remove(f.File.Name())
	}
	return err
}

// Abort removes what was written.
func (f *targetFile) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.Close(), os.Remove(f.File.Name()))
}
