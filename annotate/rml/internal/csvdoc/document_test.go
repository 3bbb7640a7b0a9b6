package csvdoc_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// everyCell is the dialect in which no cell is null.
var everyCell = csvdoc.Dialect{Null: []string{}}

// table reads the named columns of every row of a document.
func table(t testing.TB, c *csvdoc.Compiler, doc input.Document, columns ...string) [][]string {
	t.Helper()
	iterator, err := c.CompileIterator("")
	require.NoError(t, err)
	records, err := doc.Records(nil, iterator)
	require.NoError(t, err)
	out := [][]string{}
	for _, r := range records {
		var row []string
		for _, name := range columns {
			ref, err := c.CompileReference(name)
			require.NoError(t, err)
			values, err := doc.Values(nil, r, ref)
			require.NoError(t, err)
			text := "NULL"
			for _, v := range values {
				require.Equal(t, input.String, v.Kind)
				require.Equal(t, r, v.Node)
				text = string(v.Text)
			}
			row = append(row, text)
		}
		out = append(out, row)
	}
	return out
}

// A compiler serves mappings that are compiled at the same time: each name has one column.
func TestCompiler_CompileReference_isSafeForConcurrentUse(t *testing.T) {
	c := csvdoc.New(everyCell, input.Limits{})
	names := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	var compiling sync.WaitGroup
	for range 4 {
		compiling.Go(func() {
			for _, name := range names {
				if _, err := c.CompileReference(name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	compiling.Wait()
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte(strings.Join(names, ",")+"\n"+strings.Join(names, ",")+"\n")))
	require.Equal(t, [][]string{names}, table(t, c, doc, names...))
}

// load reads a text in a dialect and returns its columns a and b.
func load(t testing.TB, d csvdoc.Dialect, text string) [][]string {
	t.Helper()
	c := csvdoc.New(d, input.Limits{})
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte(text)))
	return table(t, c, doc, "a", "b")
}

func TestDocument_Load_readsTheDialect(t *testing.T) {
	for name, c := range map[string]struct {
		dialect csvdoc.Dialect
		text    string
		want    [][]string
	}{
		"LF":                        {everyCell, "a,b\n1,2\n3,4\n", [][]string{{"1", "2"}, {"3", "4"}}},
		"CRLF":                      {everyCell, "a,b\r\n1,2\r\n3,4\r\n", [][]string{{"1", "2"}, {"3", "4"}}},
		"no last line end":          {everyCell, "a,b\n1,2", [][]string{{"1", "2"}}},
		"header only":               {everyCell, "a,b", [][]string{}},
		"header only with line end": {everyCell, "a,b\n", [][]string{}},
		"byte order mark":           {everyCell, "\xEF\xBB\xBFa,b\n1,2", [][]string{{"1", "2"}}},
		"quoted names":              {everyCell, "\"a\",\"b\"\n1,2", [][]string{{"1", "2"}}},
		"quoted delimiter":          {everyCell, "a,b\n\"x,y\",2", [][]string{{"x,y", "2"}}},
		"quoted line ends":          {everyCell, "a,b\n\"x\r\ny\nz\",2", [][]string{{"x\r\ny\nz", "2"}}},
		"doubled quotes":            {everyCell, "a,b\n\"\"\"x\"\" y\"\"\",\"\"\"\"", [][]string{{`"x" y"`, `"`}}},
		"empty cells":               {everyCell, "a,b\n,\n\"\",\n", [][]string{{"", ""}, {"", ""}}},
		"empty is null by default":  {csvdoc.Dialect{}, "a,b\n,\"\"\n1, \n", [][]string{{"NULL", "NULL"}, {"1", " "}}},
		"null list": {
			csvdoc.Dialect{Null: []string{"", "NA", "-"}},
			"a,b\nNA,-\n,NAN",
			[][]string{{"NULL", "NULL"}, {"NULL", "NAN"}},
		},
		"null list without empty": {csvdoc.Dialect{Null: []string{"NA"}}, "a,b\nNA,", [][]string{{"NULL", ""}}},
		"empty lines skipped":     {everyCell, "\n\r\na,b\n\n1,2\n\r\n\n3,4\n\n", [][]string{{"1", "2"}, {"3", "4"}}},
		"empty rows kept":         {everyCell, "a,b\n,\n1,2", [][]string{{"", ""}, {"1", "2"}}},
		"blank rows skipped": {
			csvdoc.Dialect{Blank: csvdoc.SkipBlankRows},
			"a,b\n,\n\n\"\",\n1,2\n,3",
			[][]string{{"1", "2"}, {"NULL", "3"}},
		},
		"blank rows kept": {
			csvdoc.Dialect{Blank: csvdoc.KeepBlankRows, Null: []string{}},
			"a,b\n\n1,2\r\n\r\n",
			[][]string{{"", ""}, {"1", "2"}, {"", ""}},
		},
		"semicolons": {csvdoc.Dialect{Delimiter: ';', Null: []string{}}, "a;b\n1,5;2", [][]string{{"1,5", "2"}}},
		"tabs": {
			csvdoc.Dialect{Delimiter: '\t', Null: []string{}, Trim: csvdoc.TrimBoth},
			"a\tb\n\t 2 \n",
			[][]string{{"", "2"}},
		},
		"single quotes": {csvdoc.Dialect{Quote: '\''}, "a,b\n'x,''y',\"2\"", [][]string{{"x,'y", `"2"`}}},
		"no quotes":     {csvdoc.Dialect{NoQuotes: true}, "a,b\n\"x,y\"", [][]string{{`"x`, `y"`}}},
		"escape": {
			csvdoc.Dialect{Escape: '\\'},
			`a,b` + "\n" + `"x\"y\\","\n\\\"z"` + "\n" + `\,2`,
			[][]string{{`x"y\`, `\n\"z`}, {`\`, "2"}},
		},
		"comments":        {csvdoc.Dialect{Comment: '#'}, "# one \"\na,b\n#two\n1,#2\n#", [][]string{{"1", "#2"}}},
		"skipped rows":    {csvdoc.Dialect{SkipRows: 2}, "title \"of\n this\"\n\na,b\n1,2", [][]string{{"1", "2"}}},
		"two header rows": {csvdoc.Dialect{HeaderRows: 2}, "a,x\ny,b\n1,2", [][]string{{"1", "2"}}},
		"no header": {
			csvdoc.Dialect{NoHeader: true, Columns: []string{"b", "a"}},
			"1,2\n3,4",
			[][]string{{"2", "1"}, {"4", "3"}},
		},
		"trim start": {
			csvdoc.Dialect{Trim: csvdoc.TrimStart, Null: []string{}},
			"a, b\n 1 , \" x\"",
			[][]string{{"1 ", "x"}},
		},
		"trim end": {
			csvdoc.Dialect{Trim: csvdoc.TrimEnd, Null: []string{}},
			"a ,b\n 1 ,\"x \"\t\n",
			[][]string{{" 1", "x"}},
		},
		"trim both":   {csvdoc.Dialect{Trim: csvdoc.TrimBoth}, " a\t, b \n 1 ,\" \"\" \" \n", [][]string{{"1", `"`}}},
		"not trimmed": {everyCell, "a,b\n 1 ,\t", [][]string{{" 1 ", "\t"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, load(t, c.dialect, c.text))
		})
	}
}

func TestDocument_Load_numbersColumnsWithoutAHeader(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{NoHeader: true}, input.Limits{})
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("1,2\n3,4")))
	require.Equal(t, [][]string{{"2"}, {"4"}}, table(t, c, doc, "_col.2"))
	require.NoError(t, doc.Load([]byte("1,2,3")))
	require.Equal(t, [][]string{{"3"}}, table(t, c, doc, "_col.3"))
}

func TestDocument_Load_refusesInputThatIsNotOfTheDialect(t *testing.T) {
	for name, c := range map[string]struct {
		dialect              csvdoc.Dialect
		limits               input.Limits
		text, reason         string
		line, column, offset int
	}{
		"empty":            {text: "", reason: "before its header", line: 1, column: 1},
		"only empty lines": {text: "\n\n", reason: "before its header", line: 3, column: 1, offset: 2},
		"only the first header": {
			dialect: csvdoc.Dialect{HeaderRows: 2},
			text:    "a\n",
			reason:  "expected 2 rows of column names and read 1",
			line:    2,
			column:  1,
			offset:  2,
		},
		"only skipped rows": {
			dialect: csvdoc.Dialect{SkipRows: 2},
			text:    "a\n",
			reason:  "2 rows to skip, after 1",
			line:    2,
			column:  1,
			offset:  2,
		},
		"open quote in skipped": {
			dialect: csvdoc.Dialect{SkipRows: 2},
			text:    "a\n\"x\n",
			reason:  "never closed",
			line:    2,
			column:  1,
			offset:  2,
		},
		"no rows and no header": {
			dialect: csvdoc.Dialect{NoHeader: true},
			text:    "",
			reason:  "before its first row",
			line:    1,
			column:  1,
		},
		"short row": {
			text:   "a,b\n1,2\n3\n",
			reason: "the row has 1 cells, expected 2",
			line:   3,
			column: 1,
			offset: 8,
		},
		"long row": {
			text:   "a,b\n1,2,3\n",
			reason: "the row has 3 cells, expected 2",
			line:   2,
			column: 1,
			offset: 4,
		},
		"ragged header": {
			dialect: csvdoc.Dialect{HeaderRows: 2},
			text:    "a,b\nc\n",
			reason:  "the row has 1 cells, expected 2",
			line:    2,
			column:  1,
			offset:  4,
		},
		"open quote": {text: "a,b\n1,\"2\n3,4\n", reason: "never closed", line: 2, column: 3, offset: 6},
		"open quote with escape": {
			dialect: csvdoc.Dialect{Escape: '\\'},
			text:    "a\n\"\\\"",
			reason:  "never closed",
			line:    2,
			column:  1,
			offset:  2,
		},
		"open quote in header": {text: "a,\"b", reason: "never closed", line: 1, column: 3, offset: 2},
		"bare quote":           {text: "a,b\n1,x\"y\n", reason: "must be doubled", line: 2, column: 4, offset: 7},
		"bare quote with escape": {
			dialect: csvdoc.Dialect{Escape: '\\'},
			text:    "a,b\n1,x\"y\n",
			reason:  `must follow a '\\'`,
			line:    2,
			column:  4,
			offset:  7,
		},
		"text after quote": {
			text:   "a,b\n\"x\"y,2\n",
			reason: "text after a closing quote",
			line:   2,
			column: 4,
			offset: 7,
		},
		"space after quote": {
			text:   "a,b\n\"x\" ,2\n",
			reason: "text after a closing quote",
			line:   2,
			column: 4,
			offset: 7,
		},
		"lone carriage return": {text: "a,b\r1,2\r", reason: "carriage return", line: 1, column: 4, offset: 3},
		"not UTF-8":            {text: "a,b\n1,\xFC\n", reason: "0xFC is not UTF-8", line: 2, column: 3, offset: 6},
		"UTF-16":               {text: "\xFF\xFEa\x00", reason: "0xFF is not UTF-8", line: 1, column: 1},
		"cells beyond the limit": {
			limits: input.Limits{MaxNodes: 4},
			text:   "a,b\n1,2\n3,4\n5,6\n",
			reason: "more than 4 cells",
			line:   4,
			column: 1,
			offset: 12,
		},
		"header beyond the limit": {
			limits: input.Limits{MaxNodes: 4},
			text:   "a,b,c,d,e,f\n",
			reason: "more than 4 cells",
			line:   1,
			column: 9,
			offset: 8,
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc := csvdoc.New(c.dialect, c.limits).NewDocument()
			var syntax *input.SyntaxError
			require.ErrorAs(t, doc.Load([]byte(c.text)), &syntax)
			require.Contains(t, syntax.Reason, c.reason)
			require.Equal(t, "CSV", syntax.Format)
			require.Equal(t, []int{c.line, c.column, c.offset}, []int{syntax.Line, syntax.Column, syntax.Offset})
		})
	}
}

func TestDocument_Load_emptiesTheDocumentOnAnError(t *testing.T) {
	c := csvdoc.New(everyCell, input.Limits{})
	doc := c.NewDocument()
	for _, bad := range []string{"x\n1,2", "a,b\n1", "a,b\n\"", "\xFF", ""} {
		require.NoError(t, doc.Load([]byte("a,b\n1,2\n")))
		require.Error(t, doc.Load([]byte(bad)))
		require.Empty(t, table(t, c, doc))
		require.NoError(t, doc.Load([]byte("b,a\n1,2\n")))
		require.Equal(t, [][]string{{"2", "1"}}, table(t, c, doc, "a", "b"))
	}
}

func TestDocument_Load_resolvesAChangedHeader(t *testing.T) {
	c := csvdoc.New(everyCell, input.Limits{})
	doc := c.NewDocument()
	for _, text := range []string{
		"a,b\n1,2",
		"a,b\n1,2",
		"b,a\n2,1",
		"a,bc,b\n1,3,2",
		"\xEF\xBB\xBFa,bc,b\n1,3,2",
		"a,b\r\n1,2",
	} {
		require.NoError(t, doc.Load([]byte(text)))
		require.Equal(t, [][]string{{"1", "2"}}, table(t, c, doc, "a", "b"), text)
	}
	require.NoError(t, doc.Load([]byte("a,b")))
	require.NoError(t, doc.Load([]byte("a,bc\n1,2")))
	require.Equal(t, [][]string{{"1", "2"}}, table(t, c, doc, "a", "bc"))
}

func TestDocument_Values_refusesMissingAndAmbiguousColumns(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{}, input.Limits{})
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("\nID,Name,Name\n10,Venus,Williams")))
	for name, want := range map[string]string{
		"IDs":  `CSV line 2 column 1: the column "IDs" is not in the header, which has "ID", "Name", "Name"`,
		"id":   `CSV line 2 column 1: the column "id" is not in the header, which has "ID", "Name", "Name"`,
		"Name": `CSV line 2 column 1: more than one column is named "Name"`,
	} {
		ref, err := c.CompileReference(name)
		require.NoError(t, err)
		for range 2 {
			_, err = doc.Values(nil, 0, ref)
			require.EqualError(t, err, want)
		}
	}
	require.Equal(t, [][]string{{"10"}}, table(t, c, doc, "ID"))

	require.NoError(t, doc.Load([]byte(strings.Repeat("x,", 99)+"x\n"+strings.Repeat("1,", 99)+"1")))
	ref, err := c.CompileReference("ID")
	require.NoError(t, err)
	_, err = doc.Values(nil, 0, ref)
	require.ErrorContains(t, err, "and 80 more")
}

func TestDocument_Values_refusesForeignPathsAndNodes(t *testing.T) {
	c, other := csvdoc.New(csvdoc.Dialect{}, input.Limits{}), csvdoc.New(csvdoc.Dialect{}, input.Limits{})
	doc := c.NewDocument()
	require.NoError(t, doc.Load([]byte("a\n1")))
	foreign, err := other.CompileReference("a")
	require.NoError(t, err)
	require.Equal(t, "a", foreign.String())
	own, err := c.CompileReference("a")
	require.NoError(t, err)
	iterator, err := other.CompileIterator("")
	require.NoError(t, err)
	require.Empty(t, iterator.String())

	_, err = doc.Values(nil, 0, foreign)
	require.ErrorContains(t, err, "another source")
	_, err = doc.Values(nil, 0, nil)
	require.ErrorContains(t, err, "another source")
	_, err = doc.Records(nil, iterator)
	require.ErrorContains(t, err, "another source")
	for _, n := range []input.Node{-1, 1} {
		_, err = doc.Values(nil, n, own)
		require.ErrorContains(t, err, "does not exist")
		require.Equal(t, "outside of the rows", doc.Place(n))
	}
}

func TestDocument_Place_isRowAndLine(t *testing.T) {
	doc := csvdoc.New(csvdoc.Dialect{}, input.Limits{}).NewDocument()
	require.NoError(t, doc.Load([]byte("a\n\"1\n1\"\n\n2\n")))
	require.Equal(t, "row 1 (line 2)", doc.Place(0))
	require.Equal(t, "row 2 (line 5)", doc.Place(1))
}

func TestCompiler_refusesIteratorsAndEmptyReferences(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{}, input.Limits{})
	_, err := c.CompileIterator("$.rows")
	require.ErrorContains(t, err, `compile iterator "$.rows"`)
	_, err = c.CompileReference("")
	require.ErrorContains(t, err, "name of a column")
}
