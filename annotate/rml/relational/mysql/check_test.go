package mysql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/relational/mysql"
)

func TestDriver_refusesWhatIsNoQuery(t *testing.T) {
	check := mysql.Driver().Check
	for _, query := range []string{
		"SELECT 1", " (select 1) UNION (SELECT 2)", "/* a */ -- b\n # c\n WITH x AS (SELECT 1) SELECT * FROM x",
		"TABLE t", "values row(1)", "SHOW TABLES",
	} {
		require.NoError(t, check(query), query)
	}
	for _, query := range []string{
		"", "DROP TABLE t", "/*! DROP TABLE t */", "/*M!100000 DROP TABLE t */", "/* a", "-- a",
		"SELECTED", "CALL p()", "SET x = 1", ";SELECT 1", "((",
	} {
		require.ErrorContains(t, check(query), "it is not a query", query)
	}
}
