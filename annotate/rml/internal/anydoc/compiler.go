// Package anydoc adapts any expression engine to an input format. The nodes of
// the engine can have any type; they are kept in a table, and the mapping
// engine uses their indexes.
//
// A document is read twice: by the built-in format, which returns an error with
// the place when the document is malformed or exceeds a limit, and by the
// engine. Panics of the engine become errors, and its results are counted
// against the limits.
//
// The table holds the root, the records, and composite values, whose elements
// may be selected. A scalar value has the place of its record, so that the
// table does not grow with the number of references.
package anydoc

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Engine evaluates expressions. Elements may be nil; the other functions must
// be set. They are called by several goroutines at a time.
type Engine struct {
	// Parse reads a document and returns its root.
	Parse func(data []byte) (any, error)
	// Compile compiles an expression. What it returns is called by one
	// goroutine at a time.
	Compile func(expr string, namespaces map[string]string) (func(node any) ([]any, error), error)
	// Value returns a node as text. The kind of all composite values is
	// [input.Object].
	Value func(node any) (text string, kind input.Kind, ok bool)
	// Elements returns the elements of a node that is an array.
	Elements func(node any) (elements []any, ok bool)

	// Whole is the iterator that stands for the empty one.
	Whole string
	// Namespaces are passed to Compile.
	Namespaces map[string]string
}

// Compiler compiles the expressions of one logical source. Its methods are
// safe for concurrent use if those of the format that checks are.
type Compiler struct {
	engine Engine
	check  input.Compiler
	limits input.Limits
}

var _ input.Compiler = (*Compiler)(nil)

// New returns a compiler for an engine. Documents must be valid for the other
// format, too, which enforces the limits. Here MaxNodes bounds the table.
func New(engine Engine, check input.Compiler, limits input.Limits) *Compiler {
	return &Compiler{engine: engine, check: check, limits: limits}
}

// path is an expression of the engine. Each document compiles it for itself.
type path struct {
	owner *Compiler
	expr  string // as written
}

// String returns the expression as it was written.
func (p *path) String() string { return p.expr }

// CompileIterator compiles an iterator.
func (c *Compiler) CompileIterator(expr string) (input.Path, error) {
	return c.path(expr, "iterator")
}

// CompileReference compiles a reference.
func (c *Compiler) CompileReference(expr string) (input.Path, error) {
	if expr == "" {
		return nil, errors.New("compile reference: the expression is empty")
	}
	return c.path(expr, "reference")
}

func (c *Compiler) path(expr, what string) (input.Path, error) {
	p := &path{owner: c, expr: expr}
	if _, err := c.compile(p); err != nil {
		return nil, fmt.Errorf("compile %s %q: %w", what, expr, err)
	}
	return p, nil
}

// selection is a compiled expression.
type selection func(node any) ([]any, error)

// compile compiles an expression with the engine.
func (c *Compiler) compile(p *path) (selected selection, err error) {
	defer recovered(&err)
	expr := p.expr
	if expr == "" {
		expr = c.engine.Whole
	}
	selected, err = c.engine.Compile(expr, c.engine.Namespaces)
	if err == nil && selected == nil {
		err = errors.New("the evaluator returned nothing that could be evaluated")
	}
	return selected, err
}

// NewDocument returns an empty document.
func (c *Compiler) NewDocument() input.Document {
	return &Document{owner: c, check: c.check.NewDocument(), compiled: make(map[*path]selection)}
}

// recovered turns a panic of the engine into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the evaluator panicked: %v", r)
	}
}
