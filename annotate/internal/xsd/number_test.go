package xsd

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendPlain_writesPlainDecimals(t *testing.T) {
	for number, want := range map[string]string{
		"1.2e-7": "0.00000012", "1.23456785E7": "12345678.5", "5.0E-4": "0.0005", "25.0": "25", "-1.50": "-1.5",
		"+1e3": "1000", "0.0e5": "0", "-0.0": "0", "-0e-3": "0", ".5": "0.5", "5.": "5", "-.5e1": "-5", "00012.3400e2": "1234",
		"12e-1": "1.2", "12e-2": "0.12", "12e-3": "0.012", "1E300": "1" + strings.Repeat("0", 300),
		strings.Repeat("9", 3000) + ".0": strings.Repeat("9", 3000),
	} {
		text, ok := AppendPlain([]byte("before "), []byte(number))
		require.True(t, ok, number)
		require.Equal(t, "before "+want, string(text), number)
	}
	for _, number := range []string{
		"", ".", "e5", "1e", "1e+", "1e1.5", "--1", "1,5", "INF", "-INF", "NaN", "1e2000", "1e-2000", "1e1000000000000000000000", " 1",
	} {
		text, ok := AppendPlain([]byte("before "), []byte(number))
		require.False(t, ok, number)
		require.Equal(t, "before ", string(text))
	}
}

func TestNumberFormat_convertsWhereNoDigitIsLost(t *testing.T) {
	for _, c := range []struct{ datatype, number, want string }{
		{"integer", "25.0", "25"}, {"integer", "1.5E7", "15000000"}, {"integer", "25.5", ""}, {"integer", "4,5", ""},
		{"byte", "2.5e1", "25"}, {"nonNegativeInteger", "1e0", "1"}, {"decimal", "25.50", "25.5"},
	} {
		text, ok := NumberFormat(Namespace+c.datatype)(nil, []byte(c.number))
		require.Equal(t, c.want != "", ok, c)
		require.Equal(t, c.want, string(text))
	}
	for _, datatype := range []string{"double", "float", "string", "boolean", "gYear", "hexBinary", "dateTime"} {
		require.Nil(t, NumberFormat(Namespace+datatype), datatype)
	}
	require.Nil(t, NumberFormat("http://example.org/decimal"))
}

func FuzzAppendPlain(f *testing.F) {
	for _, seed := range []string{"1.2e-7", "25.0", "-.5e1", "5.", "00.00E0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, number string) {
		text, ok := AppendPlain(nil, []byte(number))
		if !ok {
			require.Empty(t, text)
			return
		}
		require.True(t, isDecimal(text), "%q", text)
		require.LessOrEqual(t, len(text), max(maxPlain, len(number))+len("-0."))
		got, isNumber := new(big.Rat).SetString(string(text))
		require.True(t, isNumber)
		want, isNumber := new(big.Rat).SetString(number)
		require.True(t, isNumber, fmt.Sprintf("%q is not a number", number))
		require.Zero(t, got.Cmp(want), "%q is %s", number, text)
	})
}
