package yarrrml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

const defaultBytes = 4 << 20

// Document is a mapping in RML.
type Document struct {
	// Statements are the statements, each with its line in the text that it was read from.
	Statements []rml.MappingStatement
	// Prefixes are those that the text declares.
	Prefixes []rdf.Prefix
}

// Load reads a document and checks its mapping. opts may be nil. Errors are a
// [*rml.MappingError].
func Load(src []byte, opts *rml.LoadOptions) (*rml.Mapping, error) {
	d, err := Read(src, opts)
	if err != nil {
		return nil, err
	}
	return rml.LoadStatements(d.Statements, d.Prefixes, opts)
}

// Read returns the RML that a document stands for. It checks the notation; what the mapping says
// is checked by [rml.LoadStatements]. opts may be nil; only MaxBytes is used. Errors are a
// [*rml.MappingError].
func Read(src []byte, opts *rml.LoadOptions) (*Document, error) {
	limit := int64(defaultBytes)
	if opts != nil && opts.MaxBytes > 0 {
		limit = opts.MaxBytes
	}
	if int64(len(src)) > limit {
		return nil, &rml.MappingError{Reason: fmt.Sprintf("it has %d bytes: expected at most %d", len(src), limit)}
	}
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	r := newReader()
	r.document(value{node: root})
	if r.err != nil {
		return nil, r.err
	}
	return &Document{Statements: r.statements, Prefixes: r.declared}, nil
}

// parse reads the one YAML document of a text.
func parse(src []byte) (*yaml.Node, error) {
	if mark := deepest(src); mark > 0 {
		return nil, &rml.MappingError{Line: mark, Reason: fmt.Sprintf("its brackets are nested more than %d deep", maxBrackets)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &rml.MappingError{Reason: "it is empty: expected mappings in YAML"}
	case err != nil:
		return nil, syntaxError(err)
	}
	switch err := decoder.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxError(err)
	default:
		return nil, &rml.MappingError{Line: more.Line, Reason: "a second YAML document begins: expected one"}
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, &rml.MappingError{Reason: "it is not a YAML document: expected mappings"}
	}
	return document.Content[0], nil
}

// maxBrackets bounds the brackets of the flow style: the parser takes time with the square of
// their depth.
const maxBrackets = 200

// deepest returns the line on which brackets are nested too deep, or 0. It counts brackets in
// quotes and comments too, except that closing ones never go below the outermost level.
func deepest(src []byte) int {
	depth, line := 0, 1
	for _, c := range src {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxBrackets {
			return line
		}
	}
	return 0
}

// lineOf finds the line in the text of an error of the YAML library.
var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError returns the error of the YAML library as an error of a mapping.
func syntaxError(err error) error {
	e := &rml.MappingError{Reason: "not valid YAML: " + err.Error()}
	if parts := lineOf.FindStringSubmatch(err.Error()); parts != nil {
		e.Line, _ = strconv.Atoi(parts[1])
		e.Reason = "not valid YAML: " + parts[2]
	}
	return e
}
