package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/relational/postgres"
	"github.com/iotenablers/enablers/annotate/rml/relational/relationaltest"
)

func TestDriver_passesTheSuites(t *testing.T) {
	address := relationaltest.StartPostgres(t, postgres.Driver())
	db := relationaltest.Open(t, postgres.Driver(), address)
	t.Run("contract", func(t *testing.T) {
		relationaltest.Contract{Driver: postgres.Driver(), URL: address, Execute: func(t *testing.T, statements string) {
			relationaltest.Execute(t, db, statements)
		}}.Run(t)
	})
	for _, suite := range []string{"r2rml", "rml-sql"} {
		t.Run(suite, func(t *testing.T) {
			relationaltest.Suite{
				Name: suite, Kind: "PostgreSQL", Cases: 39, Driver: postgres.Driver(),
				Refused: map[string]string{
					"RMLTC0002i": "it has a table and a query, which has not the column that the subjects are made of",
					"RMLTC0007h": "the graph of the subject map is a blank node, as in the case of CSV, where R2RML has an error",
				},
				Prepare: func(t *testing.T, folder string) string {
					tables, err := os.ReadFile(filepath.Join(folder, "resource.sql"))
					require.NoError(t, err)
					escapes := "on"
					if suite == "rml-sql" { // RMLTC0016e doubles the backslashes of its bytes
						escapes = "off"
					}
					relationaltest.Execute(t, db, "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"+
						"SET standard_conforming_strings = "+escapes+";"+string(tables))
					return address
				},
			}.Run(t)
		})
	}
}
