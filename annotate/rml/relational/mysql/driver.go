// Package mysql reads MySQL and MariaDB databases for mappings.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/go-sql-driver/mysql"

	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// Driver returns the driver. Its URLs are
// mysql://user:password@host:3306/name, or mariadb: in place of mysql:. Of the
// parameters, socket is the socket of a local server, and tls is true, skip-verify or
// preferred. Those that only JDBC has are ignored if they do not change what is read.
//
// A column of the type TINYINT(1) of a table, which BOOLEAN means, holds truth
// values. In the result of a query it holds numbers, because the server does not say more.
func Driver() relational.Driver {
	return relational.Driver{
		Schemes:  []string{"mysql", "mariadb"},
		Open:     open,
		Quote:    func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" },
		Text:     "CHAR",
		ReadOnly: true,
		Check:    check,
		Booleans: booleans,
	}
}

// ignored are the parameters of JDBC that have no meaning here.
func ignored() []string {
	return []string{
		"useSSL", "serverTimezone", "allowPublicKeyRetrieval", "characterEncoding", "useUnicode", "autoReconnect", "useCursorFetch",
		"defaultFetchSize", "rewriteBatchedStatements", "useLegacyDatetimeCode",
	}
}

func open(u *url.URL) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net = "tcp"
	config.Addr = u.Host
	if u.Port() == "" {
		config.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	config.DBName = strings.TrimPrefix(u.Path, "/")
	for name, values := range u.Query() {
		switch {
		case name == "socket":
			config.Net = "unix"
			config.Addr = values[0]
		case name == "tls":
			config.TLSConfig = values[0]
		case !slices.Contains(ignored(), name):
			return nil, fmt.Errorf("the parameter %q of its URL is not known: expected socket or tls", name)
		}
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// check refuses, by its first word, what is not a query. The servers commit the transaction before they run a statement that
// defines something, such as DROP TABLE, and MariaDB then runs it.
func check(query string) error {
	rest := query
	for {
		rest = strings.TrimLeft(rest, " \t\r\n(")
		var after string
		found := true
		switch {
		case strings.HasPrefix(rest, "/*!"), strings.HasPrefix(rest, "/*M!"): // is run
			return errNoQuery
		case strings.HasPrefix(rest, "/*"):
			_, after, found = strings.Cut(rest, "*/")
		case strings.HasPrefix(rest, "#"), strings.HasPrefix(rest, "--"):
			_, after, found = strings.Cut(rest, "\n")
		default:
			end := strings.IndexFunc(rest, func(c rune) bool { return !unicode.IsLetter(c) })
			if end < 0 {
				end = len(rest)
			}
			switch strings.ToUpper(rest[:end]) {
			case "SELECT", "WITH", "TABLE", "VALUES", "SHOW", "DESCRIBE", "EXPLAIN":
				return nil
			}
			return errNoQuery
		}
		if !found {
			return errNoQuery
		}
		rest = after
	}
}

var errNoQuery = errors.New("it is not a query: expected one that begins with SELECT, WITH, TABLE, VALUES, SHOW, DESCRIBE or EXPLAIN")

// booleans returns the columns of a table with the type TINYINT(1).
func booleans(ctx context.Context, db *sql.DB, table string) (columns []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT column_name FROM information_schema.columns "+
		"WHERE table_schema = DATABASE() AND table_name = ? AND column_type = 'tinyint(1)'", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns = append(columns, name)
	}
	return columns, rows.Err()
}
