package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/iotenablers/enablers/annotate/rml/relational/relationaltest"
	"github.com/iotenablers/enablers/annotate/rml/relational/sqlite"
)

func TestDriver_passesTheR2RMLSuite(t *testing.T) {
	relationaltest.Suite{
		Name: "r2rml", Kind: "SQLite", Cases: 38, Driver: sqlite.Driver(),
		Untyped: untyped(),
		Refused: map[string]string{
			"R2RMLTC0002c": "the query names a column that is not there; the case of PostgreSQL is refused",
			"R2RMLTC0002g": "the query is no SQL; the case of PostgreSQL is refused",
			"R2RMLTC0002h": "two columns of the query have one name; the case of PostgreSQL is refused",
		},
		Counted: map[string]string{"R2RMLTC0020a": "the table has company.com where the output has example.com/company"},
		Prepare: func(_ *testing.T, folder string) string {
			return "sqlite://" + filepath.ToSlash(folder) + "/resource.db"
		},
	}.Run(t)
}

// untyped are the cases whose output does not have the natural datatypes of
// R2RML, section 10.2, which the same cases of PostgreSQL have.
func untyped() map[string]string {
	const integer, double = "an integer has no datatype", "a double is not in canonical form or has no datatype"
	return map[string]string{
		"R2RMLTC0002a": integer, "R2RMLTC0005a": double, "R2RMLTC0007c": integer, "R2RMLTC0007d": integer, "R2RMLTC0008b": integer,
		"R2RMLTC0009d": integer, "R2RMLTC0012a": double, "R2RMLTC0016b": double,
	}
}
