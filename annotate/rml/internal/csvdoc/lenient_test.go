package csvdoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

func lenientCells(t *testing.T, text string) ([][]string, csvdoc.Irregular) {
	t.Helper()
	doc := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{}).NewDocument().(*csvdoc.Document)
	require.NoError(t, doc.Load([]byte(text)))
	return csvdoc.Cells(doc), doc.Irregular()
}

func TestDialect_Lenient_readsIrregularRows(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		want      [][]string
		irregular csvdoc.Irregular
	}{
		"text after a quote": {"a,b\n1,\"A\" x\n", [][]string{{"1", `"A" x`}}, csvdoc.Irregular{}},
		"doubled quotes":     {"a,b\n1,\"\"\"A\"\"\"\n", [][]string{{"1", `"A"`}}, csvdoc.Irregular{}},
		"doubled, and text after": {"a,b\n1,\"x \"\"y\"\" z\" w , 2\n", [][]string{{"1", `"x "y" z" w`}}, csvdoc.Irregular{
			Long: csvdoc.IrregularRows{Count: 1, Cells: 3}}},
		"a quote inside": {"a,b\n1,5\" pipe\n", [][]string{{"1", `5" pipe`}}, csvdoc.Irregular{}},
		"spaces":         {"a,b\n 1 ,\t\" A \" \n", [][]string{{"1", " A "}}, csvdoc.Irregular{}},
		"short and long": {"a,b\n1\n1,2,3,4\n", [][]string{{"1"}, {"1", "2"}}, csvdoc.Irregular{
			Long: csvdoc.IrregularRows{Count: 1, First: 1, Cells: 4}, Short: csvdoc.IrregularRows{Count: 1, Cells: 1}}},
		"the first of each": {"a,b\n1,2\n1,2,3\n1,2,3,4\n", [][]string{{"1", "2"}, {"1", "2"}, {"1", "2"}}, csvdoc.Irregular{
			Long: csvdoc.IrregularRows{Count: 2, First: 1, Cells: 3}}},
		"cut inside quotes": {"a,b\n0,x\n1,\"y\n2,\"z\"\n", [][]string{{"0", "x"}, {"1", "\"y\n2,\"z\""}}, csvdoc.Irregular{
			Torn: csvdoc.IrregularRows{Count: 1, First: 1, Cells: 2}}},
		"cut inside quotes, and long": {"a,b\n1,\"y\n2,\"z\",3\n", [][]string{{"1", "\"y\n2,\"z\""}}, csvdoc.Irregular{
			Torn: csvdoc.IrregularRows{Count: 1, Cells: 3}}},
		"comments":                 {"#x\na,b\n#1,2\n3,4\n#", [][]string{{"3", "4"}}, csvdoc.Irregular{Comments: 3}},
		"lines of spaces":          {"\n \na,b\r\n  \r\n1,2\r\n\t\r\n", [][]string{{"1", "2"}}, csvdoc.Irregular{}},
		"carriage returns":         {"a,b\r1,2\r3,4", [][]string{{"1", "2"}, {"3", "4"}}, csvdoc.Irregular{}},
		"byte order mark":          {"\xEF\xBB\xBF\"a\",b\n1,2", [][]string{{"1", "2"}}, csvdoc.Irregular{}},
		"a line end inside quotes": {"a,b\n1,\"x\r\ny\"\n", [][]string{{"1", "x\r\ny"}}, csvdoc.Irregular{}},
		"header only":              {"a,b\n", [][]string{}, csvdoc.Irregular{}},
		"empty cells":              {"a,b\n,\n", [][]string{{"", ""}}, csvdoc.Irregular{}},
	} {
		t.Run(name, func(t *testing.T) {
			cells, irregular := lenientCells(t, c.text)
			require.Equal(t, c.want, cells)
			require.Equal(t, c.irregular, irregular)
		})
	}
}

func TestDialect_Lenient_detectsTheDelimiter(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"semicolon, decimal commas":       {"id;name\n1;3,14\n2;2,72\n", []string{"1", "3,14"}},
		"tab":                             {"id\tname\n1\ta, b; c\n", []string{"1", "a, b; c"}},
		"bar":                             {"id|name\n1|2\n", []string{"1", "2"}},
		"commas in a name of a column":    {"range (min, max, mean);day\n1;2\n3;4\n", []string{"1", "2"}},
		"semicolons in a name":            {"range (min; max; mean),day\n1,2\n3,4\n", []string{"1", "2"}},
		"delimiters inside quotes":        {"\"a;b;c;d\",e\n\"1;2;3;4\",5\n", []string{"1;2;3;4", "5"}},
		"none in the header":              {"id\n1;2\n", []string{"1;2"}},
		"the most cells without rows":     {"a,b;c;d\n", nil},
		"the first in a draw":             {"a,b;c\n1,2;3\n", []string{"1", "2;3"}},
		"the most rows with as many":      {"a,b;c\n1,2\n3;4\n5;6\n", []string{"1,2"}},
		"rows beyond the sample are left": {"a,b;c\n1,2\n" + strings.Repeat("3,4;5\n", 18) + "6;7\n8;9\n", []string{"1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			cells, _ := lenientCells(t, c.text)
			if c.want == nil {
				require.Empty(t, cells)
				return
			}
			require.Equal(t, c.want, cells[0])
		})
	}
}

func TestDialect_Lenient_detectsAnewForEachInput(t *testing.T) {
	doc := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{}).NewDocument().(*csvdoc.Document)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"a,b;c\n1,2\n", []string{"1", "2"}},
		{"a,b;c\n1;2\n", []string{"1", "2"}},
		{"a|b\n1;2|3\n", []string{"1;2", "3"}},
		{"a,b;c\n1,2\n", []string{"1", "2"}},
		{"#x\na,b\n1,2\n", []string{"1", "2"}},
		{"#x\na,b\n3,4\n", []string{"3", "4"}},
	} {
		require.NoError(t, doc.Load([]byte(c.text)))
		require.Equal(t, c.want, csvdoc.Cells(doc)[0], c.text)
	}
	require.Equal(t, 1, doc.Irregular().Comments)
}

func TestDialect_Lenient_findsColumnsByName(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{})
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("ID, Name ,name,\" Town \",id,NAME\n1,A,B,C,2,D\n")))
	for ref, want := range map[string]string{"ID": "1", "Id": "2", "name": "B", "town": "C", " TOWN": "C", "Name": "A", "nAme": "D"} {
		path, err := c.CompileReference(ref)
		require.NoError(t, err)
		values, err := doc.Values(nil, 0, path)
		require.NoError(t, err)
		require.Equal(t, want, string(values[0].Text), ref)
	}
	path, err := c.CompileReference("nope")
	require.NoError(t, err)
	_, err = doc.Values(nil, 0, path)
	require.ErrorContains(t, err, `the column "nope" is not in the header`)
	require.NotContains(t, err.Error(), "comments")
	require.NoError(t, doc.Load([]byte("#nope,b\n1,A\n")))
	_, err = doc.Values(nil, 0, path)
	require.Error(t, err, "no record")
	require.NoError(t, doc.Load([]byte("#nope,b\n1,A\n2,B\n")))
	_, err = doc.Values(nil, 0, path)
	require.ErrorContains(t, err, `lines above it that begin with '#' are comments`)
}

func TestDialect_Lenient_aMissingCellHasNoValue(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{Lenient: true, Null: []string{}}, input.Limits{})
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("a,b\n1\n2,\n")))
	path, err := c.CompileReference("b")
	require.NoError(t, err)
	values, err := doc.Values(nil, 0, path)
	require.NoError(t, err)
	require.Empty(t, values)
	values, err = doc.Values(nil, 1, path)
	require.NoError(t, err)
	require.Len(t, values, 1)
}

func TestDialect_Lenient_acceptsIterators(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{})
	path, err := c.CompileIterator("$")
	require.NoError(t, err)
	require.Equal(t, "$", path.String())
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("a\n1\n2\n")))
	records, err := doc.Records(nil, path)
	require.NoError(t, err)
	require.Len(t, records, 2)
}

func TestDialect_Lenient_refuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an open quote": {"a,b\n1,\"x\n2,y\n", "line 2 column 3: the quote that begins here is never closed"},
		"nothing":       {"", "the input ended before its header"},
		"comments":      {"# a\n", "the input ended before its header"},
		"another code":  {"a\n\xFF\n", "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{}).NewDocument()
			require.ErrorContains(t, doc.Load([]byte(c.text)), c.want)
		})
	}
	require.ErrorContains(t, csvdoc.Dialect{Lenient: true, Escape: '\\', SkipRows: 1, HeaderRows: 2}.Validate(),
		"dialect header rows: may not be set in the lenient mode")
	require.NoError(t, csvdoc.Dialect{Lenient: true, Delimiter: '#'}.Validate())
	limited := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{MaxNodes: 4}).NewDocument()
	require.NoError(t, limited.Load([]byte("a,b\n1\n2\n3\n4\n")), "a short row takes no more than its cells")
	require.ErrorContains(t, limited.Load([]byte("a,b\n1\n2\n3\n4\n5\n")), "more than 4 cells")
}

func TestDocument_Split_lenientEndsAfterACompleteRow(t *testing.T) {
	doc := csvdoc.New(csvdoc.Dialect{Lenient: true}, input.Limits{}).NewDocument().(*csvdoc.Document)
	for text, want := range map[string]string{
		"a;b":                  "",
		"a;b\n1;":              "a;b\n",
		"a;b\n1;\"x\ny":        "a;b\n",
		"a;b\n1;\"x\"\ny":      "a;b\n1;\"x\"\n",
		"a;b\n1,\"x\n2;y":      "a;b\n1,\"x\n", // a comma is no delimiter: the quote is inside a cell
		"a;b\n1;\"x\" \"\n2;y": "a;b\n1;\"x\" \"\n",
		"a;b\r\n1;2\r":         "a;b\r\n",
	} {
		require.Equal(t, want, text[:doc.Split([]byte(text), true)], text)
	}
}
