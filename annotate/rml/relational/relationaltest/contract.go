package relationaltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// Contract checks what every driver promises beside the mappings that pass its [Suite]: how queries
// end, that rows are not gathered, and what errors say.
type Contract struct {
	// Driver is the driver that is checked.
	Driver relational.Driver
	// URL is a database in which the tests create the tables contract, digits, words and quoted.
	URL string
	// Execute runs statements that write.
	Execute func(t *testing.T, statements string)
}

// contractTables are the tables of the tests. Ten digits, eight times multiplied with each other, are more rows than
// memory or a test has room for.
const contractTables = `DROP TABLE IF EXISTS contract; DROP TABLE IF EXISTS digits;
CREATE TABLE contract (id INTEGER, name VARCHAR(40)); CREATE TABLE digits (d INTEGER);
INSERT INTO contract VALUES (1, 'one'); INSERT INTO contract VALUES (2, NULL); INSERT INTO contract VALUES (3, 'three');
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
DROP TABLE IF EXISTS words; CREATE TABLE words (w VARCHAR(4)); INSERT INTO words VALUES ('7'), ('07'), ('x');
DROP TABLE IF EXISTS quoted; CREATE TABLE quoted (QUOTES INTEGER); INSERT INTO quoted VALUES (1);`

// quotes is the name of a column with the quotes of every database.
const quotes = "a\"b`c"

const endless = "SELECT a.d AS d FROM digits a, digits b, digits c, digits d, digits e, digits f, digits g, digits h"

// Run runs the tests. The statements of Execute end with semicolons.
func (c Contract) Run(t *testing.T) {
	c.Execute(t, strings.ReplaceAll(contractTables, "QUOTES", c.Driver.Quote(quotes)))
	for _, test := range []struct {
		name string
		run  func(*testing.T, *relational.Databases)
	}{
		{"Query_returnsTheColumnsInTheirOrder", c.columns},
		{"Query_joinsColumnsOfTwoTypes", c.joined},
		{"Query_quotesNames", c.quoted},
		{"Query_namesWhatIsMissing", c.missing},
		{"Query_writesNothing", c.readOnly},
		{"Query_endsWithItsContext", c.context},
		{"Query_isSafeForConcurrentUse", c.concurrent},
		{"Close_endsAQueryInTheMiddle", c.closeEarly},
		{"Databases_Close_endsOpenRows", c.closeAll},
	} {
		t.Run(test.name, func(t *testing.T) {
			databases := relational.New([]relational.Driver{c.Driver}, &relational.Options{URL: c.URL})
			defer func() { require.NoError(t, databases.Close(), "Close after Close too") }()
			test.run(t, databases)
		})
	}
}

func table(name string, columns ...string) rml.Query {
	q := rml.Query{Source: rml.Source{Kind: rml.SourceDatabase, Name: name, Formulation: rml.SQL}}
	for _, c := range columns {
		q.Columns = append(q.Columns, rml.Column{Name: c})
	}
	return q
}

func query(text string, columns ...string) rml.Query {
	q := table("", columns...)
	q.Source.Query = text
	return q
}

// all reads the rows as texts, NULL as "-".
func all(rows rml.Rows, columns int) (texts [][]string, err error) {
	row := make([]rml.Cell, columns)
	for {
		if err := rows.Next(row); err != nil {
			if err == io.EOF {
				err = nil
			}
			return texts, err
		}
		var made []string
		for _, cell := range row {
			if cell.Kind == rml.NullValue {
				made = append(made, "-")
				continue
			}
			made = append(made, string(cell.Text))
		}
		texts = append(texts, made)
	}
}

func (c Contract) columns(t *testing.T, databases *relational.Databases) {
	want := [][]string{{"-", "2", "2"}, {"one", "1", "1"}, {"three", "3", "3"}}
	for _, q := range []rml.Query{
		table("contract", "NAME", "id", "id"), query("SELECT id, name FROM contract ;\n", "name", "ID", "id"),
	} {
		rows, err := databases.Query(t.Context(), q)
		require.NoError(t, err)
		got, err := all(rows, 3)
		require.NoError(t, err)
		slices.SortFunc(got, slices.Compare[[]string])
		require.Equal(t, want, got)
		require.ErrorIs(t, rows.Next(make([]rml.Cell, 3)), io.EOF, "the end stays the end")
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Close(), "a second Close does nothing")
	}
	rows, err := databases.Query(t.Context(), table("contract"))
	require.NoError(t, err)
	got, err := all(rows, 0)
	require.NoError(t, err)
	require.Len(t, got, 3, "without columns the number of rows remains")
	require.NoError(t, rows.Close())
}

// joined compares numbers and texts as texts: that is how a mapping sees them.
func (c Contract) joined(t *testing.T, databases *relational.Databases) {
	q := table("digits", "d")
	q.Parent = table("words").Source
	q.On = []rml.JoinOn{{Child: "d", Parent: "w"}}
	q.Columns = append(q.Columns, rml.Column{Parent: true, Name: "w"})
	rows, err := databases.Query(t.Context(), q)
	require.NoError(t, err)
	got, err := all(rows, 2)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"7", "7"}}, got)
	require.NoError(t, rows.Close())
}

func (c Contract) quoted(t *testing.T, databases *relational.Databases) {
	rows, err := databases.Query(t.Context(), table("quoted", quotes))
	require.NoError(t, err)
	got, err := all(rows, 1)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"1"}}, got)
	require.NoError(t, rows.Close())
}

func (c Contract) missing(t *testing.T, databases *relational.Databases) {
	for want, q := range map[string]rml.Query{
		"nowhere": table("nowhere", "id"), `column other: it is not in the result: expected one of ["id" "name"]`: table("contract", "other"),
		"column more": query("SELECT id FROM contract", "more"),
	} {
		_, err := databases.Query(t.Context(), q)
		require.ErrorContains(t, err, want)
	}
	_, err := databases.Query(t.Context(), query("SELECT id, id FROM contract", "id"))
	require.ErrorContains(t, err, `two columns of the name "id"`)
	_, err = databases.Query(t.Context(), table(`contract"; DROP TABLE contract; --`, "id"))
	require.Error(t, err, "a name is not a statement")
	c.columns(t, databases)
}

func (c Contract) readOnly(t *testing.T, databases *relational.Databases) {
	for _, statement := range []string{"DELETE FROM contract", "INSERT INTO contract VALUES (4, 'four')", "DROP TABLE contract"} {
		rows, err := databases.Query(t.Context(), query(statement))
		if err == nil {
			_, err = all(rows, 0)
			require.NoError(t, rows.Close())
		}
		require.Error(t, err, statement)
	}
	c.columns(t, databases)
}

func (c Contract) context(t *testing.T, databases *relational.Databases) {
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := databases.Query(ended, table("contract", "id"))
	require.ErrorIs(t, err, context.Canceled)
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := databases.Query(ctx, query(endless, "d"))
	require.NoError(t, err)
	require.NoError(t, rows.Next(make([]rml.Cell, 1)))
	cancel()
	row := make([]rml.Cell, 1)
	for err == nil {
		err = rows.Next(row)
	}
	require.ErrorIs(t, err, context.Canceled, "and not the end of the rows")
	_ = rows.Close() // it may report the context
	c.columns(t, databases)
}

func (c Contract) closeEarly(t *testing.T, databases *relational.Databases) {
	for range 3 {
		rows, err := databases.Query(t.Context(), query(endless, "d"))
		require.NoError(t, err)
		require.NoError(t, rows.Next(make([]rml.Cell, 1)))
		require.NoError(t, rows.Close(), "the rest of the rows is not read")
		require.NoError(t, rows.Close())
	}
	c.columns(t, databases)
}

func (c Contract) closeAll(t *testing.T, databases *relational.Databases) {
	rows, err := databases.Query(t.Context(), query(endless, "d"))
	require.NoError(t, err)
	require.NoError(t, rows.Next(make([]rml.Cell, 1)))
	require.NoError(t, databases.Close())
	row := make([]rml.Cell, 1)
	for err == nil {
		err = rows.Next(row)
	}
	require.NotErrorIs(t, err, io.EOF)
	_ = rows.Close()
	c.columns(t, databases) // a database is opened again
}

func (c Contract) concurrent(t *testing.T, databases *relational.Databases) {
	results := make(chan error)
	for range 4 {
		go func() {
			rows, err := databases.Query(t.Context(), table("contract", "id", "name"))
			if err == nil {
				var got [][]string
				if got, err = all(rows, 2); err == nil && len(got) != 3 {
					err = fmt.Errorf("%d rows", len(got))
				}
				err = errors.Join(err, rows.Close())
			}
			results <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-results)
	}
}
