package relational

import (
	"net/url"

	"github.com/iotenablers/enablers/annotate/rml"
)

// Parse is what resolves the URL of a database.
func Parse(d *Databases, named rml.Database) (*url.URL, error) { return d.parse(named) }

// Unquote is what reads an identifier.
func Unquote(identifier string) (string, bool) { return unquote(identifier) }

// From is what writes a table into a query.
func From(driver Driver, name string) string {
	return (&database{driver: driver}).from(rml.Source{Kind: rml.SourceDatabase, Name: name})
}
