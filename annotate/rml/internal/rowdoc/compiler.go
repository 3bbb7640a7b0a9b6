package rowdoc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Column is a column that a reference of the mapping names.
type Column struct {
	// Parent reports whether it is a column of the parent of a join.
	Parent bool
	// Name is the reference as the mapping writes it, with quotes where it has them.
	Name string
}

// Compiler collects the columns that the references of a source name. It is
// not safe for concurrent use; the paths are.
type Compiler struct {
	columns []Column
}

// New returns a compiler without columns.
func New() *Compiler { return &Compiler{} }

// Columns returns the columns in the order in which they were first named.
func (c *Compiler) Columns() []Column { return slices.Clone(c.columns) }

// path is a reference to a column.
type path struct {
	name  string
	index int // -1 for the iterator
}

// String returns the reference as the mapping writes it.
func (p path) String() string { return p.name }

// CompileIterator accepts only the empty expression: each row is a record.
func (c *Compiler) CompileIterator(expr string) (input.Path, error) {
	if expr != "" {
		return nil, fmt.Errorf("a table has no iterator, got %q: each of its rows is a record", expr)
	}
	return path{index: -1}, nil
}

// CompileReference compiles the name of a column. Whether the table has it is
// only known when the table is read.
func (c *Compiler) CompileReference(expr string) (input.Path, error) { return c.reference(expr, false) }

// CompileParentReference compiles the name of a column of the parent of a join.
func (c *Compiler) CompileParentReference(expr string) (input.Path, error) {
	return c.reference(expr, true)
}

func (c *Compiler) reference(expr string, parent bool) (input.Path, error) {
	if expr == "" {
		return nil, errors.New("it is empty: expected the name of a column")
	}
	column := Column{Parent: parent, Name: expr}
	index := slices.Index(c.columns, column)
	if index < 0 {
		index = len(c.columns)
		c.columns = append(c.columns, column)
	}
	return path{name: expr, index: index}, nil
}

// NewDocument returns an empty [*Document].
func (c *Compiler) NewDocument() input.Document { return &Document{width: len(c.columns)} }
