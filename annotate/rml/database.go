package rml

import (
	"net/url"
	"strings"
)

// Database is a relational database as a mapping names it, in the terms of
// D2RQ. It prints without its password.
type Database struct {
	// URL is the value of d2rq:jdbcDSN, such as jdbc:postgresql://host/name.
	URL string
	// Username and Password log in to the database. Either may be empty.
	Username string
	Password Password
}

// String returns the URL without user, password and parameters.
func (d Database) String() string {
	before, _, _ := strings.Cut(d.URL, "?")
	rest, jdbc := strings.CutPrefix(before, "jdbc:")
	u, err := url.Parse(rest)
	if err != nil {
		return "a database"
	}
	u.User = nil
	if jdbc {
		return "jdbc:" + u.String()
	}
	return u.String()
}

// Password is a text that is not printed.
type Password string

// String returns a placeholder for the password.
func (p Password) String() string {
	if p == "" {
		return ""
	}
	return "(hidden)"
}

// GoString is String for %#v.
func (p Password) GoString() string { return p.String() }

// MarshalText returns what String returns, so that JSON shows no password.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Query asks a database for the rows of a table, of a query, or of the join of
// two of them.
type Query struct {
	// Source is the table or query, and the database.
	Source Source
	// Parent is what Source, the child, is joined with: another source of the same
	// database. It is the zero Source without a join.
	Parent Source
	// On has the conditions of the join. A row is in the result if all are met, as in
	// the joint SQL query of R2RML, section 8.
	On []JoinOn
	// Columns are the columns of each row, in this order. A column may occur
	// twice, once of the child and once of the parent. There may be none: the rows then
	// have no cells, and only their number matters.
	Columns []Column
}

// JoinOn is the condition that a column of the child equals one of the parent.
type JoinOn struct{ Child, Parent string }

// Column is a column that a mapping names.
type Column struct {
	// Parent reports whether the column is one of Query.Parent.
	Parent bool
	// Name is the name as the mapping writes it. A name in quotes ("Name") is
	// exact, as is one in the quotes of the database.
	Name string
}

// Rows are the rows that answer a [Query]. They are used by one goroutine.
type Rows interface {
	// Next fills in the next row, one cell for each of Query.Columns. It returns
	// io.EOF after the last row. The texts are valid until the next call. It ends with an
	// error when the context of the query does.
	Next(row []Cell) error
	// Close ends the query. A second Close does nothing.
	Close() error
}

// Cell is a value in a row: its natural RDF lexical form and its kind, which
// decides its datatype (R2RML, section 10.2). A NULL is a NullValue.
type Cell struct {
	Text []byte
	Kind ValueKind
}
