package xsd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
)

func TestCompare_ordersValues(t *testing.T) {
	for _, c := range []struct{ less, datatypeLess, more, datatypeMore string }{
		{"9", "integer", "10", "byte"},
		{"-10", "integer", "-9.5", "decimal"},
		{"-0.1", "decimal", "0", "integer"},
		{"0.05", "decimal", "0.5", "decimal"},
		{"99999999999999999999999999999998", "integer", "99999999999999999999999999999999", "integer"},
		{"1", "integer", "1.5e0", "double"},
		{"-INF", "float", "INF", "double"},
		{"a", "string", "b", "string"},
		{"false", "boolean", "1", "boolean"},
		{"2024-02-28T23:59:59Z", "dateTime", "2024-02-29T00:00:00Z", "dateTime"},
		{"2024-01-01T00:30:00+01:00", "dateTime", "2024-01-01T00:00:00Z", "dateTimeStamp"},
		{"2024-01-01T00:00:00.05", "dateTime", "2024-01-01T00:00:00.5", "dateTime"},
		{"2024-01-01T00:00:00Z", "dateTime", "2024-01-03T00:00:00", "dateTime"},
		{"-0001-12-31", "date", "0001-01-01", "date"},
		{"2024-02-29", "date", "2024-03-01", "date"},
		{"10:00:00+02:00", "time", "09:00:00Z", "time"},
		{"1999", "gYear", "2000", "gYear"},
		{"2000-01", "gYearMonth", "2000-02", "gYearMonth"},
	} {
		a, b := xsd.Namespace+c.datatypeLess, xsd.Namespace+c.datatypeMore
		order, ok := xsd.Compare(c.less, a, c.more, b)
		require.True(t, ok, "%v", c)
		require.Negative(t, order, "%v", c)
		order, ok = xsd.Compare(c.more, b, c.less, a)
		require.True(t, ok, "%v", c)
		require.Positive(t, order, "%v", c)
	}
}

func TestCompare_findsEqualValuesOfDifferentForm(t *testing.T) {
	for _, c := range []struct{ a, datatypeA, b, datatypeB string }{
		{"1", "integer", "+01.00", "decimal"},
		{"-0", "integer", "0.0", "decimal"},
		{"1", "boolean", "true", "boolean"},
		{"2024-01-01T24:00:00Z", "dateTime", "2024-01-02T00:00:00.0Z", "dateTime"},
		{"2024-01-01T02:00:00+02:00", "dateTime", "2024-01-01T00:00:00Z", "dateTime"},
	} {
		order, ok := xsd.Compare(c.a, xsd.Namespace+c.datatypeA, c.b, xsd.Namespace+c.datatypeB)
		require.True(t, ok, "%v", c)
		require.Zero(t, order, "%v", c)
	}
}

func TestCompare_refusesValuesWithoutOrder(t *testing.T) {
	for _, c := range []struct{ a, datatypeA, b, datatypeB string }{
		{"1", "integer", "1", "string"},
		{"x", "integer", "1", "integer"},
		{"NaN", "double", "1", "integer"},
		{"2024-01-01T00:00:00", "dateTime", "2024-01-01T00:00:00Z", "dateTime"},
		{"2024-01-01", "date", "2024-01-01T00:00:00", "dateTime"},
		{"12345678901-01-01", "date", "2024-01-01", "date"},
		{"P1D", "duration", "P2D", "duration"},
	} {
		_, ok := xsd.Compare(c.a, xsd.Namespace+c.datatypeA, c.b, xsd.Namespace+c.datatypeB)
		require.False(t, ok, "%v", c)
	}
	_, ok := xsd.Compare("a", "http://example.org/mine", "b", "http://example.org/mine")
	require.False(t, ok)
	order, ok := xsd.Compare("a", "", "b", xsd.Namespace+"string")
	require.True(t, ok)
	require.Negative(t, order)
}
