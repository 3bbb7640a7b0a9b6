package xsd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindLexicalSpace_followsXMLSchema(t *testing.T) {
	for name, c := range map[string]struct{ in, out []string }{
		"boolean": {[]string{"true", "false", "1", "0"}, []string{"", "TRUE", "yes", " true"}},
		"integer": {
			[]string{"0", "-0", "+7", "00012", "123456789012345678901234567890"},
			[]string{"", "+", "1.0", "1e3", "a", " 1"},
		},
		"decimal": {[]string{"1", "1.", ".5", "-1.50", "+0.0"}, []string{"", ".", "-", "1e3", "1,5", "INF"}},
		"double": {
			[]string{"1", "1.5E3", "-1e-7", "INF", "-INF", "+INF", "NaN", ".5e0"},
			[]string{"", "inf", "Infinity", "1e", "e5", "1e1.5", "0x10"},
		},
		"float": {[]string{"3.0E0"}, []string{"f"}},
		"int": {
			[]string{"2147483647", "-2147483648", "0000000000000000012"},
			[]string{"2147483648", "-2147483649", "1.0"},
		},
		"long":               {[]string{"9223372036854775807"}, []string{"9223372036854775808"}},
		"byte":               {[]string{"127", "-128"}, []string{"128", "-129"}},
		"unsignedByte":       {[]string{"255", "-0", "+1"}, []string{"256", "-1"}},
		"nonNegativeInteger": {[]string{"0", "-0", "99999999999999999999999"}, []string{"-1"}},
		"positiveInteger":    {[]string{"1"}, []string{"0", "-1"}},
		"negativeInteger":    {[]string{"-1", "-99999999999999999999999"}, []string{"0", "-0", "1"}},
		"nonPositiveInteger": {[]string{"0", "-1"}, []string{"1"}},
		"dateTime": {
			[]string{
				"2026-03-14T09:26:53",
				"2026-03-14T09:26:53.123Z",
				"-0044-03-15T12:00:00+01:00",
				"2024-02-29T24:00:00",
				"12026-01-01T00:00:00-14:00",
			},
			[]string{
				"", "2026-03-14", "2026-3-14T09:26:53", "2026-02-29T00:00:00", "2026-03-14T24:00:01", "2026-03-14T09:26",
				"2026-03-14 09:26:53", "2026-03-14T09:26:60", "2026-03-14T09:26:53.", "2026-03-14T09:26:53+14:01",
				"026-03-14T09:26:53", "02026-03-14T09:26:53",
			},
		},
		"dateTimeStamp": {[]string{"2026-03-14T09:26:53Z"}, []string{"2026-03-14T09:26:53"}},
		"date": {
			[]string{"2026-12-31", "2000-02-29", "2026-12-31Z", "2026-12-31-05:00"},
			[]string{"1900-02-29", "2026-13-01", "2026-04-31", "31.12.2026", "2026-12-31T00:00:00"},
		},
		"time":       {[]string{"23:59:59.999", "00:00:00Z"}, []string{"24:00:01", "9:00:00", "09:00"}},
		"gYear":      {[]string{"1999", "-0001", "12000"}, []string{"99", "1999-01"}},
		"gYearMonth": {[]string{"1999-05"}, []string{"1999-00"}},
		"gMonth":     {[]string{"--05"}, []string{"05", "--13"}},
		"gMonthDay":  {[]string{"--02-29"}, []string{"--02-30"}},
		"gDay":       {[]string{"---31"}, []string{"---32"}},
		"hexBinary":  {[]string{"", "0aFF"}, []string{"0", "0g"}},
	} {
		space := FindLexicalSpace(Namespace + name)
		require.NotNil(t, space, name)
		for _, text := range c.in {
			require.True(t, space([]byte(text)), "%q is an xsd:%s", text, name)
		}
		for _, text := range c.out {
			require.False(t, space([]byte(text)), "%q is not an xsd:%s", text, name)
		}
	}
	require.Nil(t, FindLexicalSpace(Namespace+"string"))
	require.Nil(t, FindLexicalSpace("http://example.com/int"))
}
