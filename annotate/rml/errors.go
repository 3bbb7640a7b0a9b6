package rml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// ErrLimit matches errors about an input that exceeds one of the [Limits].
var ErrLimit = input.ErrLimit

// MappingError is an error in a mapping, with its place.
type MappingError struct {
	// Node names the mapping node as the mapping writes it: a prefixed name,
	// an IRI in angle brackets, or the kind of an unnamed node.
	Node string
	// Line is the line of the mapping on which the statement about the node
	// begins, or 0 when it is not known.
	Line int
	// Column is the column of that line, counted from 1, or 0 when it is not known. Errors in
	// the notation of YARRRML have one.
	Column int
	// Reason is what is wrong and what was expected.
	Reason string

	cause error
}

// Unwrap returns the cause, such as an [*rdf.SyntaxError]; nil if Reason is all.
func (e *MappingError) Unwrap() error { return e.cause }

// Error returns one line with the node, the line and the reason.
func (e *MappingError) Error() string {
	var b strings.Builder
	b.WriteString("mapping")
	if e.Line > 0 {
		fmt.Fprintf(&b, " line %d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, " column %d", e.Column)
	}
	if e.Node != "" {
		b.WriteString(", " + e.Node)
	}
	return b.String() + ": " + e.Reason
}

// MessageError is the error of a message, or a file in a batch, that could not
// be mapped.
type MessageError struct {
	// Node names the mapping node that could not be evaluated. It is empty
	// when the input could not be read at all.
	Node string
	// Source names the file, or is empty for a message of a stream.
	Source string
	// Place is the place in the input: a JSON pointer, an XPath, a row, or a line
	// and column. It is empty for the whole input.
	Place string
	// Err is the cause.
	Err error
}

// Error returns one line with the node, the place and the cause.
func (e *MessageError) Error() string {
	parts := make([]string, 0, 4)
	if e.Node != "" {
		parts = append(parts, e.Node)
	}
	where := e.Source
	if e.Place != "" && e.Place != syntaxPlace(e.Err) { // the text of the cause contains it
		if where != "" {
			where += " "
		}
		where += "at " + e.Place
	}
	if where != "" {
		parts = append(parts, where)
	}
	if len(parts) == 0 {
		return e.Err.Error()
	}
	return strings.Join(parts, ", ") + ": " + e.Err.Error()
}

// syntaxPlace returns where an input is malformed, or an empty string for
// another error.
func syntaxPlace(err error) string {
	var syntax *input.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	return fmt.Sprintf("line %d column %d", syntax.Line, syntax.Column)
}

// Unwrap returns the cause.
func (e *MessageError) Unwrap() error { return e.Err }

// node is a mapping node as errors name it.
type node struct {
	term rdf.Term
	line int
	// name is the kind with the name in the mapping: `triples map map:Obs`.
	name string
}

// errorf returns a *MappingError about the node.
func (n node) errorf(format string, args ...any) *MappingError {
	return &MappingError{Node: n.name, Line: n.line, Reason: fmt.Sprintf(format, args...)}
}

// String returns the name with the line, for errors about messages.
func (n node) String() string {
	if n.line == 0 {
		return n.name
	}
	return fmt.Sprintf("%s (mapping line %d)", n.name, n.line)
}
