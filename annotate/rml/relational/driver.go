package relational

import (
	"context"
	"database/sql"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
)

// Driver opens databases of one kind. Its functions are safe for concurrent use.
type Driver struct {
	// Schemes are the first words of the URLs that it opens, such as "postgres". A
	// URL of JDBC has the same ones after "jdbc:".
	Schemes []string
	// Open opens a database without connecting to it. User and password are those
	// of the URL. It must only read where the database allows that to be set.
	Open func(*url.URL) (*sql.DB, error)
	// Quote puts a name into the quotes of the database.
	Quote func(name string) string
	// Text is the type that values are cast to where a join compares columns of
	// different types, such as "CHAR".
	Text string
	// ReadOnly reports whether a query runs in a transaction that only reads.
	ReadOnly bool
	// Check refuses a query that such a transaction would run although it writes. It may be nil.
	Check func(query string) error
	// Booleans returns the columns of a table that hold truth values although their
	// type says otherwise. It may be nil.
	Booleans func(ctx context.Context, db *sql.DB, table string) ([]string, error)
}

// ValueKind returns the kind of the values of a column by the name of its type in
// SQL (R2RML, section 10.2), such as "VARCHAR(20)" or "TIMESTAMP". A type that is
// not known has text.
func ValueKind(sqlType string) rml.ValueKind {
	name := strings.ToUpper(sqlType)
	if i := strings.IndexAny(name, "( "); i >= 0 && name != "DOUBLE PRECISION" {
		first := name[:i]
		if first == "UNSIGNED" { // as MySQL has it
			first, _, _ = strings.Cut(name[i+1:], "(")
		}
		name = first
	}
	switch name {
	case "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8", "SERIAL", "BIGSERIAL", "YEAR", "OID":
		return rml.IntegerValue
	case "DECIMAL", "NUMERIC":
		return rml.DecimalValue
	case "REAL", "FLOAT", "DOUBLE", "DOUBLE PRECISION", "FLOAT4", "FLOAT8":
		return rml.DoubleValue
	case "BOOL", "BOOLEAN":
		return rml.BooleanValue
	case "DATE":
		return rml.DateValue
	case "TIME", "TIMETZ":
		return rml.TimeValue
	case "TIMESTAMP", "TIMESTAMPTZ", "DATETIME":
		return rml.DateTimeValue
	case "BYTEA", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY":
		return rml.BinaryValue
	}
	return rml.StringValue
}
