// Package postgres reads PostgreSQL databases for mappings, with the library
// pgx.
package postgres

import (
	"database/sql"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// Driver returns the driver. Its URLs are those of PostgreSQL, such as
// postgres://user:password@host:5432/name?sslmode=require, with its parameters. The
// socket of a local server is given as the parameter host, its folder.
func Driver() relational.Driver {
	return relational.Driver{
		Schemes:  []string{"postgres", "postgresql"},
		Open:     open,
		Quote:    func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` },
		Text:     "TEXT",
		ReadOnly: true,
	}
}

func open(u *url.URL) (*sql.DB, error) {
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}
