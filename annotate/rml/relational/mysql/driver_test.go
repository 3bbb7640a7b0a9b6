package mysql_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/relational/mysql"
	"github.com/iotenablers/enablers/annotate/rml/relational/relationaltest"
)

func TestDriver_passesTheSuites(t *testing.T) {
	address := relationaltest.StartMariaDB(t, mysql.Driver())
	db := relationaltest.Open(t, mysql.Driver(), address)
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.Path = "/test"
	t.Run("contract", func(t *testing.T) {
		relationaltest.Contract{Driver: mysql.Driver(), URL: u.String(), Execute: func(t *testing.T, statements string) {
			relationaltest.Execute(t, db, "DROP DATABASE IF EXISTS test; CREATE DATABASE test; USE test;"+statements)
		}}.Run(t)
	})
	for _, suite := range []string{"r2rml", "rml-sql"} {
		t.Run(suite, func(t *testing.T) {
			relationaltest.Suite{
				Name: suite, Kind: "MySQL", Cases: 39, Driver: mysql.Driver(),
				Refused: map[string]string{
					"RMLTC0002i": "it has a table and a query, which has not the column that the subjects are made of",
					"RMLTC0007h": "the graph of the subject map is a blank node, as in the case of CSV, where R2RML has an error",
				},
				Prepare: func(t *testing.T, folder string) string {
					tables, err := os.ReadFile(filepath.Join(folder, "resource.sql"))
					require.NoError(t, err)
					relationaltest.Execute(t, db, "DROP DATABASE IF EXISTS test; CREATE DATABASE test; USE test; "+
						"SET sql_mode='ANSI_QUOTES';"+string(tables))
					return u.String()
				},
			}.Run(t)
		})
	}
}
