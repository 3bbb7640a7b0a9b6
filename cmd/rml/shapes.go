package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
	"github.com/iotenablers/enablers/internal/cli"
)

// shapesFile is a file of shapes that an output has to conform to.
type shapesFile struct {
	name   string
	shapes *shacl.Shapes
}

// loadShapes loads the file. An empty name is no file, and nil.
func loadShapes(name string, format rdf.Format) (*shapesFile, error) {
	if name == "" {
		return nil, nil
	}
	if !format.Syntax().Readable {
		readable := rdf.FormatNames(func(s rdf.Syntax) bool { return s.Readable })
		return nil, cli.Usage(fmt.Errorf("-shapes: -format must be one of %s, got %s", readable, format))
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read shapes: %w", err)
	}
	shapes, err := shacl.Load(text, &shacl.Options{MaxSteps: math.MaxInt32})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if shapes.Targeted() == 0 {
		return nil, fmt.Errorf("%s: no shape has a target, so that nothing would be checked; "+
			"add one, such as sh:targetClass or sh:targetSubjectsOf", name)
	}
	return &shapesFile{name, shapes}, nil
}

// check reports the results for an output on stderr. It returns an error if one of
// them is a violation. It keeps the statements in memory.
func (f *shapesFile) check(output io.Reader, format rdf.Format, stderr io.Writer) error {
	reader, err := rdf.NewReader(output, format, nil)
	if err != nil {
		return err
	}
	var quads []rdf.Quad
	for q, err := range reader.All() {
		if err != nil {
			return fmt.Errorf("read back the output: %w", err)
		}
		quads = append(quads, q)
	}
	report, err := f.shapes.Validate(quads)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	for _, r := range report.Results {
		severity := r.Severity[strings.LastIndexAny(r.Severity, "#/")+1:]
		fmt.Fprintf(stderr, "rml: %s: %s\n", strings.ToLower(severity), r)
	}
	if n := report.Omitted(); n > 0 {
		fmt.Fprintf(stderr, "rml: %d more results\n", n)
	}
	if report.Focus == 0 {
		fmt.Fprintf(stderr, "rml: note: the shapes of %s select no node of the output; nothing was checked\n", f.name)
	}
	if report.Violations > 0 {
		return fmt.Errorf("the output violates the shapes of %s (violations: %d)", f.name, report.Violations)
	}
	return nil
}
