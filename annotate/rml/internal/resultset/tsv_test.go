package resultset_test

import (
	"encoding/csv"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/resultset"
)

func read(text string) (string, error) {
	got, err := io.ReadAll(resultset.FromTSV(iotest.OneByteReader(strings.NewReader(text)), 1<<16))
	return string(got), err
}

func TestFromTSV_convertsTerms(t *testing.T) {
	got, err := read("?x\t?y\t$z\r\n<http://a/\\u00e9>\t\"a\\tb \\\"c\\\" \\U0001F600\\\\\"@en-GB\t-1.5e3\n" +
		"_:b0\t'it''s\t\n\t\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>\ttrue\n")
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"x", "y", "z"}, {"http://a/é", "a\tb \"c\" \U0001F600\\", "-1.5e3"}, {"_:b0", "it", ""}, {"", "1", "true"},
	}, rows)
}

func TestFromTSV_namesLineAndColumnOfAMistake(t *testing.T) {
	for text, want := range map[string]string{
		"x\ty\n":              `line 1: column 1: the header has "x": expected a variable`,
		"?x\n<a\n":            "line 2: column 1: an IRI has no end",
		"?x\n\"a\\\"\n":       "line 2: column 1: a literal has no end",
		"?x\t?y\n1\n":         "line 2: it has 1 columns, the header has 2",
		"?x\n\"\\q\"\n":       `\q escapes nothing`,
		"?x\n\"\\u12\"\n":     "4 hexadecimal digits are missing",
		"?x\n\"\\uD800\"\n":   "is not a character",
		"?x\n\"\\u00zz\"@e\n": "is not a character",
		"?x\n<a\\>\n":         "a backslash escapes nothing",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := io.ReadAll(resultset.FromTSV(strings.NewReader("?x\n"+strings.Repeat("1", 1<<17)), 1<<16))
	require.ErrorContains(t, err, "token too long")
}

func FuzzFromTSV(f *testing.F) {
	f.Add("?x\t?y\n<http://a/>\t\"b\\n\"@en\n")
	f.Add("?x\n_:b\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			t.Skip("a table of more than 4 KiB")
		}
		got, err := read(text)
		if err != nil {
			return
		}
		reader := csv.NewReader(strings.NewReader(got))
		reader.ReuseRecord = true
		for {
			_, err := reader.Read()
			if err == io.EOF {
				return
			}
			require.NoError(t, err, got)
		}
	})
}
