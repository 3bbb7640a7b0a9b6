package relational_test

import (
	"database/sql"
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// failing is a driver whose errors show what it was given.
func failing() relational.Driver {
	return relational.Driver{Schemes: []string{"fail"}, Open: func(u *url.URL) (*sql.DB, error) {
		return nil, errors.New("cannot open " + u.String())
	}}
}

func TestDatabases_Query_showsNoPassword(t *testing.T) {
	for _, named := range []rml.Database{
		{URL: "fail://me:s3cr%2Ft@host/name"},
		{URL: "jdbc:fail://host/name?user=me&password=s3cr%2Ft"},
		{URL: "fail://host/name", Username: "me", Password: "s3cr/t"},
	} {
		databases := relational.New([]relational.Driver{failing()}, nil)
		_, err := databases.Query(t.Context(), rml.Query{Source: rml.Source{Kind: rml.SourceDatabase, Name: "t", Database: named}})
		require.ErrorContains(t, err, "cannot open fail://me")
		require.NotContains(t, err.Error(), "s3cr")
		require.NoError(t, databases.Close())
	}
}

func TestDatabases_Query_namesWhatIsMissing(t *testing.T) {
	databases := relational.New([]relational.Driver{failing()}, nil)
	for url, want := range map[string]string{
		"":                  "names no database",
		"CONNECTIONDSN":     "of no known kind",
		"jdbc:oracle://h/x": "of no known kind",
		"fail://%zz":        "cannot be read",
	} {
		_, err := databases.Query(t.Context(), rml.Query{Source: rml.Source{Name: "t", Database: rml.Database{URL: url}}})
		require.ErrorContains(t, err, want)
	}
}

func TestValueKind_knowsTheTypesOfSQL(t *testing.T) {
	for name, want := range map[string]rml.ValueKind{
		"VARCHAR(20)": rml.StringValue, "integer": rml.IntegerValue, "UNSIGNED BIGINT": rml.IntegerValue, "DECIMAL(10,2)": rml.DecimalValue,
		"DOUBLE PRECISION": rml.DoubleValue, "FLOAT4": rml.DoubleValue, "BOOL": rml.BooleanValue, "timestamptz": rml.DateTimeValue,
		"VARBINARY(200)": rml.BinaryValue, "": rml.StringValue,
	} {
		require.Equal(t, want, relational.ValueKind(name), name)
	}
}
