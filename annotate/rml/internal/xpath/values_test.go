package xpath_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/xpath"
)

// prefixes are those of the expressions in testdata.
var prefixes = map[string]string{"p": "http://p/"}

// outcome evaluates an expression at the first item of the document as the table writes values: =
// with the values, or ! with the code of the error.
func outcome(tree xpath.Tree, source string, at int32, limits xpath.Limits) string {
	failed := func(err error) string {
		var e *xpath.Error
		if errors.As(err, &e) {
			return "!" + e.Code
		}
		return "!" + err.Error()
	}
	x, err := xpath.Compile(source, &xpath.Options{Namespaces: prefixes})
	if err != nil {
		return failed(err)
	}
	items, err := new(xpath.Evaluator).Append(nil, x, tree, at, limits)
	if err != nil {
		return failed(err)
	}
	if len(items) == 0 {
		return "=(empty)"
	}
	var texts []string
	for _, i := range items {
		text := i.Text
		if i.Node >= 0 {
			text = string(tree.Value(i.Node))
		}
		texts = append(texts, strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "|", `\p`).Replace(text))
	}
	return "=" + strings.Join(texts, "|")
}

// rows returns the expressions of the table with their values.
func rows(t testing.TB) [][2]string {
	t.Helper()
	data, err := os.ReadFile("testdata/values.tsv")
	require.NoError(t, err)
	var all [][2]string
	for line := range strings.Lines(string(data)) {
		source, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		require.True(t, ok, line)
		all = append(all, [2]string{source, want})
	}
	return all
}

// differences are the expressions with another value than in the table, on purpose.
var differences = map[string]struct{ value, reason string }{
	`matches('aa', '(a)\1')`: {"!unsupported", "back-references do not match in linear time"},
}

// TestEvaluator_Append_agreesWithSaxon compares the values with those of Saxon-HE 12.5, which computed
// testdata/values.tsv at the first i element of testdata/document.xml. Where Saxon reports an
// error, any error will do.
func TestEvaluator_Append_agreesWithSaxon(t *testing.T) {
	data, err := os.ReadFile("testdata/document.xml")
	require.NoError(t, err)
	tree := readTree(t, data)
	all := rows(t)
	require.Greater(t, len(all), 600)
	for _, row := range all {
		want := row[1]
		got := outcome(tree, row[0], 3, xpath.Limits{})
		if other, ok := differences[row[0]]; ok {
			require.NotEqual(t, want, other.value, row[0])
			want = other.value
		}
		if strings.HasPrefix(want, "!") && strings.HasPrefix(got, "!") {
			continue
		}
		if want != got {
			t.Errorf("%s\n\tSaxon  %s\n\there   %s", row[0], want, got)
		}
	}
}
