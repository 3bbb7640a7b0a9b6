// Package sqlite reads SQLite databases for mappings, with the library of
// modernc.org, which needs no C.
package sqlite

import (
	"database/sql"
	"errors"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // registers the driver of database/sql

	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// Driver returns the driver. Its URLs are sqlite:///absolute/path and
// sqlite:relative/path. A database is only read, and must exist.
func Driver() relational.Driver {
	return relational.Driver{
		Schemes: []string{"sqlite"},
		Open:    open,
		Quote:   func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` },
		Text:    "TEXT",
	}
}

func open(u *url.URL) (*sql.DB, error) {
	path := u.Path
	if u.Opaque != "" {
		var err error
		if path, err = url.PathUnescape(u.Opaque); err != nil {
			return nil, err
		}
	}
	if path == "" || u.Host != "" {
		return nil, errors.New("it names no file: expected sqlite:///absolute/path or sqlite:relative/path")
	}
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=ro&_pragma=query_only(1)"}
	return sql.Open("sqlite", file.String())
}
