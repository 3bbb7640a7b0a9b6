// Package input is the contract between the mapping engine and the input
// formats. A format parses one whole input into nodes that are plain indexes,
// and evaluates compiled paths against them without allocations once its
// buffers have grown to the size of the inputs.
package input

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrLimit matches errors about an input that exceeds a limit. It has the name under which package rml
// publishes it.
var ErrLimit = errors.New("rml: limit exceeded")

// Node is one place in a loaded document: a JSON value, an XML element or
// attribute, a CSV row. It is valid only for the [Document] that returned it,
// until the next Load.
type Node int32

// Kind is the natural kind of a value.
type Kind uint8

// The kinds of value. In CSV and XML all values are a String; those from Decimal
// to Binary are only in databases. Object and Array are values that are not
// terms by themselves.
const (
	String Kind = iota
	Integer
	Double
	Boolean
	Decimal
	Date
	Time
	DateTime
	Binary // in hexadecimal
	Null
	Object
	Array
)

// Value is one value that a reference selected.
type Value struct {
	// Text is the value as text, escapes and entities resolved: "30", "true",
	// "a\nb". It is nil for Null. For Object and Array it is the source text. It
	// is borrowed: it is valid until the next Load and must not be changed.
	Text []byte
	// Kind is the natural kind of the value.
	Kind Kind
	// Node is the place of the value.
	Node Node
}

// Path is a compiled iterator or reference of one format. Paths are immutable
// and safe for concurrent use; they belong to the format that compiled them.
type Path interface {
	// String returns the expression as it was written.
	String() string
}

// Compiler compiles the expressions of one logical source.
type Compiler interface {
	// CompileIterator compiles the expression that selects the records.
	// An empty expression selects the whole document (JSON "$", XML "/")
	// or every row (CSV).
	CompileIterator(expr string) (Path, error)
	// CompileReference compiles an expression that is evaluated against a
	// record.
	CompileReference(expr string) (Path, error)
	// NewDocument returns an empty document of the format, for one goroutine
	// at a time. It is called after all expressions are compiled.
	NewDocument() Document
}

// Document is one parsed input. It is reused from input to input by one
// goroutine at a time.
type Document interface {
	// Load parses and checks the whole input. It returns a *SyntaxError for
	// an input that is not of the format or is beyond a limit. The document
	// refers to data until the next Load; data must not change meanwhile.
	Load(data []byte) error
	// Records appends the nodes that the iterator selects, in document order.
	Records(dst []Node, iterator Path) ([]Node, error)
	// Values appends the values that the reference selects from the record, in
	// document order; or none. An absent key is not an error; a column that the
	// header does not have is an error.
	Values(dst []Value, record Node, reference Path) ([]Value, error)
	// Place describes the place of a node, for error messages: a JSON
	// pointer, an XPath, a row number. It may allocate.
	Place(n Node) string
}

// Bounded is a [Document] that accounts for the memory of its nodes.
type Bounded interface {
	// Bound sets how many bytes the nodes of the inputs to come may take, besides
	// Limits.MaxNodes. It is exceeded by no node, and by the copy of a buffer that
	// grows: less than half of it. Zero means no bound.
	Bound(bytes int)
}

// Within returns how many nodes of a size there may be: as many as the limit, and the bytes
// of [Bounded], allow. There is always one.
func Within(bytes, size, limit int) int {
	if bytes <= 0 {
		return limit
	}
	return min(limit, max(1, bytes/size))
}

// Limits bounds what a document accepts. Zero fields mean no limit here; the
// engine fills in its defaults.
type Limits struct {
	// MaxDepth is the deepest nesting of arrays, objects and elements.
	MaxDepth int
	// MaxNodes is the largest number of nodes (values, elements, cells).
	MaxNodes int
}

// SyntaxError is the error of an input that could not be loaded, with its
// place.
type SyntaxError struct {
	// Format is "JSON", "CSV" or "XML".
	Format string
	// Line and Column are 1-based; Column counts bytes.
	Line, Column int
	// Offset is the 0-based byte offset.
	Offset int
	// Parted reports whether the input is refused only because it is read in parts.
	Parted bool
	// Limit reports whether the input exceeds a limit: the error matches [ErrLimit].
	Limit bool
	// Reason is what was wrong and what was expected.
	Reason string
}

// TooLarge returns the error of an input that is larger than a format can address.
func TooLarge(format string, size int, limit uint64) error {
	return &SyntaxError{
		Format: format,
		Line:   1,
		Column: 1,
		Limit:  true,
		Reason: fmt.Sprintf("the input of %d bytes is larger than the largest possible, %d", size, limit),
	}
}

// Error returns one line with the format, the place and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s line %d column %d: %s", e.Format, e.Line, e.Column, e.Reason)
}

// Is reports whether the error is about a limit and the target is [ErrLimit].
func (e *SyntaxError) Is(target error) bool { return e.Limit && target == ErrLimit }

// Position is a place in an input. That of its beginning is line 1, column 1.
type Position struct {
	Line, Column int // 1-based; Column counts bytes
	Offset       int // 0-based
}

// Advance moves the position behind data that was read there.
func (p *Position) Advance(data []byte) {
	p.Offset += len(data)
	if lines := bytes.Count(data, []byte{'\n'}); lines > 0 {
		p.Line += lines
		p.Column = len(data) - bytes.LastIndexByte(data, '\n')
		return
	}
	p.Column += len(data)
}

// Locate returns the 1-based line and byte column of an offset in data.
func Locate(data []byte, offset int) (line, column int) {
	line, column = 1, 1
	for _, b := range data[:min(offset, len(data))] {
		if b == '\n' {
			line, column = line+1, 1
		} else {
			column++
		}
	}
	return line, column
}
