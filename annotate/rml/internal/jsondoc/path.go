package jsondoc

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Path is a compiled JSONPath expression. It is immutable and safe for
// concurrent use.
type Path struct {
	expr  string
	owner *Compiler // nil for a path that was parsed on its own
	query query

	jayway   bool  // whether the path is of Jayway
	definite bool  // of Jayway: whether it names one place
	tail     *tail // of Jayway: what ends it, or nil
}

var _ input.Path = (*Path)(nil)

// String returns the expression as it was written.
func (p *Path) String() string { return p.expr }

// Singular reports whether the path selects at most one node by its form:
// every step is one member name or one index.
func (p *Path) Singular() bool { return p.query.singular }

// PathError is the error of an expression that is not valid.
type PathError struct {
	// Expr is the whole expression.
	Expr string
	// Offset is the 0-based byte offset at which it stops being valid.
	Offset int
	// Reason is what was found and what was expected.
	Reason string
}

// Error returns one line with the expression, the place and the reason.
func (e *PathError) Error() string {
	return fmt.Sprintf("JSONPath %q at byte %d: %s", e.Expr, e.Offset, e.Reason)
}

// query is a sequence of segments applied to the root or the current node.
type query struct {
	absolute bool // begins with "$"
	singular bool
	segments []segment
	steps    []selector // of a singular query, one a segment
}

// segment selects children or, when descendant, children of every node of the
// subtree.
type segment struct {
	descendant bool
	selectors  []selector
}

type selectorKind uint8

const (
	selectName selectorKind = iota
	selectIndex
	selectSlice
	selectWildcard
	selectFilter
)

// selector is one entry of a bracketed selection.
type selector struct {
	kind             selectorKind
	hasStart, hasEnd bool
	slot             int // number of the name among the compiler's names, -1 when not counted
	name             string
	start            int64 // also the index
	end, step        int64
	filter           *logical
}

type logicalKind uint8

const (
	logicalOr logicalKind = iota
	logicalAnd
	logicalNot
	logicalExists  // a query that selects something
	logicalCall    // a function of logical type
	logicalCompare // two values
	logicalJayway  // a test of Jayway: one or two operands
)

// logical is a test of a filter.
type logical struct {
	kind        logicalKind
	terms       []*logical // of or, and, not
	query       *query
	call        *call
	comparison  comparison
	left, right operand
}

type comparison uint8

const (
	equal comparison = iota
	notEqual
	less
	lessOrEqual
	greater
	greaterOrEqual

	// Of Jayway only.
	exists
	matchesPattern
	isIn
	isNotIn
	isSubset
	hasAny
	hasNone
	hasAll
	containsValue
	sizeIs
	emptyIs
)

type operandKind uint8

const (
	operandLiteral operandKind = iota
	operandQuery
	operandCall
)

// operand is a side of a comparison or an argument of a function.
type operand struct {
	kind    operandKind
	literal value
	query   *query
	call    *call
	tail    *tail // of Jayway: what ends the query
	several bool  // of Jayway: whether the value of the query is a list
}
