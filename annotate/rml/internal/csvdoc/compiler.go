package csvdoc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Compiler compiles the references of one CSV source. It is safe for
// concurrent use.
type Compiler struct {
	dialect Dialect
	invalid error
	special [256]bool // the bytes that end an unquoted cell
	null    nulls

	maxCells int
	sample   int // bytes in which a delimiter is detected

	mu      sync.Mutex
	columns []string // the name of each reference; the index is its id
}

// nulls is the null list of a dialect, with the usual member set apart.
type nulls struct {
	empty  bool
	others []string
}

// rows is the path of the iterator.
type rows struct {
	owner *Compiler
	expr  string // in the lenient mode, where it has no effect
}

// column is the path of a reference.
type column struct {
	owner *Compiler
	name  string
	id    int
}

// String returns the expression as it was written. Every one selects each row.
func (r *rows) String() string { return r.expr }

// String returns the name of the column.
func (c *column) String() string { return c.name }

// New returns a compiler for sources of a dialect. Only limits.MaxNodes, the
// largest number of cells in an input, applies to CSV. A dialect that does not
// validate is reported by each Compile method and by Load.
func New(dialect Dialect, limits input.Limits) *Compiler {
	c := &Compiler{invalid: dialect.Validate(), dialect: dialect.filled(), maxCells: math.MaxInt, sample: sampleBytes}
	if limits.MaxNodes > 0 {
		c.maxCells = limits.MaxNodes
	}
	c.special['\n'] = true
	c.special['\r'] = true
	c.special[c.dialect.Delimiter] = true
	if !c.dialect.NoQuotes {
		c.special[c.dialect.Quote] = true
	}
	for _, n := range c.dialect.Null {
		if n == "" {
			c.null.empty = true
		} else {
			c.null.others = append(c.null.others, n)
		}
	}
	return c
}

// CompileIterator accepts only the empty expression: the records of CSV are
// its rows. The lenient mode accepts any other, without effect.
func (c *Compiler) CompileIterator(expr string) (input.Path, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	if expr != "" && !c.dialect.Lenient {
		return nil, fmt.Errorf("compile iterator %q: CSV has no iterators, every row is a record", expr)
	}
	return &rows{c, expr}, nil
}

// CompileReference compiles the name of a column, taken exactly as it is
// written. Whether a header has the column is checked when a value is read.
func (c *Compiler) CompileReference(expr string) (input.Path, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	if expr == "" {
		return nil, errors.New(`compile reference "": expected the name of a column`)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := slices.Index(c.columns, expr)
	if id < 0 {
		id = len(c.columns)
		c.columns = append(c.columns, expr)
	}
	return &column{owner: c, name: expr, id: id}, nil
}

// NewDocument returns an empty [*Document].
func (c *Compiler) NewDocument() input.Document {
	return &Document{compiler: c, maxCells: c.maxCells, maxNames: math.MaxInt}
}

// Split returns the offset after the last complete row of data, 0 when data
// holds no complete row. Data must begin where a row begins. It is how an
// input larger than the memory is cut for [Document.Load] and
// [Document.LoadRows]; what follows the offset belongs to the next piece.
func (c *Compiler) Split(data []byte) int {
	quote := c.dialect.Quote
	escape := c.dialect.Escape
	comment := c.dialect.Comment
	end := 0
	lineStart := true
	quoted := false
	for i := 0; i < len(data); i++ {
		b := data[i]
		switch {
		case quoted && escape != 0 && b == escape:
			i++
		case b == quote && !c.dialect.NoQuotes:
			quoted = !quoted
			lineStart = false
		case quoted:
		case b == '\n':
			end = i + 1
			lineStart = true
		case lineStart && comment != 0 && b == comment:
			n := bytes.IndexByte(data[i:], '\n')
			if n < 0 {
				return end
			}
			i += n
			end = i + 1
		default:
			lineStart = false
		}
	}
	return end
}

// has reports whether a cell is one of the nulls.
func (n *nulls) has(text []byte) bool {
	if len(text) == 0 {
		return n.empty
	}
	for _, o := range n.others {
		if string(text) == o {
			return true
		}
	}
	return false
}
