package csvdoc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

func TestCompiler_Split_endsAfterTheLastCompleteRow(t *testing.T) {
	for _, c := range []struct {
		dialect csvdoc.Dialect
		text    string
		want    int
	}{
		{csvdoc.Dialect{}, "", 0},
		{csvdoc.Dialect{}, "a,b", 0},
		{csvdoc.Dialect{}, "a,b\n", 4},
		{csvdoc.Dialect{}, "a,b\r\n1,2", 5},
		{csvdoc.Dialect{}, "a,b\n1,\"x\ny\n", 4},
		{csvdoc.Dialect{}, "a,b\n1,\"x\n\"\"y\"\n", 14},
		{csvdoc.Dialect{NoQuotes: true}, "a,\"b\n1", 5},
		{csvdoc.Dialect{Escape: '\\'}, "\"\\\"\n\"\n", 6},
		{csvdoc.Dialect{Comment: '#'}, "#\"\na\n#\"\nb", 8},
		{csvdoc.Dialect{Comment: '#'}, "a\n#\"", 2},
		{csvdoc.Dialect{Comment: '#'}, "a#\"\n\"\nb", 6},
	} {
		require.Equal(t, c.want, csvdoc.New(c.dialect, input.Limits{}).Split([]byte(c.text)), c.text)
	}
}

func TestDocument_LoadRows_agreesWithLoad(t *testing.T) {
	const text = "\xEF\xBB\xBFa,b\r\n1,\"x\r\n\"\"y\"\r\n\r\n2,z\n3,\"\n\"\n"
	c := csvdoc.New(everyCell, input.Limits{})
	whole := c.NewDocument()
	require.NoError(t, whole.Load([]byte(text)))
	want := table(t, c, whole, "a", "b")
	require.Len(t, want, 3)

	for size := c.Split([]byte(text[:10])); size <= len(text); size++ {
		doc := c.NewDocument().(*csvdoc.Document)
		var got [][]string
		var places []string
		var buffer []byte
		loaded := false
		take := func(piece []byte) {
			if loaded {
				require.NoError(t, doc.LoadRows(piece))
			} else {
				require.NoError(t, doc.Load(piece))
			}
			loaded = true
			rows := table(t, c, doc, "a", "b")
			for n := range rows {
				places = append(places, doc.Place(input.Node(n)))
			}
			got = append(got, rows...)
			clear(piece)
		}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			buffer = append(buffer, rest[:n]...)
			rest = rest[n:]
			if end := c.Split(buffer); end > 0 {
				take(buffer[:end])
				buffer = append([]byte(nil), buffer[end:]...)
			}
		}
		take(buffer)
		require.Equal(t, want, got, size)
		require.Equal(t, []string{"row 1 (line 2)", "row 2 (line 5)", "row 3 (line 6)"}, places)
	}
}

func TestDocument_LoadRows_countsPlacesFromTheBeginning(t *testing.T) {
	doc := csvdoc.New(csvdoc.Dialect{}, input.Limits{}).NewDocument().(*csvdoc.Document)
	require.ErrorContains(t, doc.LoadRows([]byte("1,2\n")), "no header")
	require.NoError(t, doc.Load([]byte("a,b\n1,2\n")))
	require.NoError(t, doc.LoadRows([]byte("3,4\n")))
	var syntax *input.SyntaxError
	require.ErrorAs(t, doc.LoadRows([]byte("5,6\n7\n")), &syntax)
	require.Equal(t, []int{5, 1, 16}, []int{syntax.Line, syntax.Column, syntax.Offset})
	require.ErrorContains(t, doc.LoadRows([]byte("1,2\n")), "no header")
}

func ExampleNew() {
	c := csvdoc.New(csvdoc.Dialect{Delimiter: ';'}, input.Limits{})
	rows, _ := c.CompileIterator("")
	name, _ := c.CompileReference("Country Code")
	doc := c.NewDocument()
	if err := doc.Load([]byte("Country Code;Name\nIE;Ireland\nBO;Bolivia\n")); err != nil {
		fmt.Println(err)
	}
	records, _ := doc.Records(nil, rows)
	for _, r := range records {
		values, _ := doc.Values(nil, r, name)
		fmt.Printf("%s: %s\n", doc.Place(r), values[0].Text)
	}
	// Output:
	// row 1 (line 2): IE
	// row 2 (line 3): BO
}

func ExampleCompiler_Split() {
	c := csvdoc.New(csvdoc.Dialect{}, input.Limits{})
	piece := "a,b\n1,2\n3,\"fo"
	fmt.Printf("%q", piece[:c.Split([]byte(piece))])
	// Output: "a,b\n1,2\n"
}

func TestDocument_Load_freesTheBuffersOfAHugeInput(t *testing.T) {
	c := csvdoc.New(csvdoc.Dialect{}, input.Limits{})
	doc := c.NewDocument()
	huge := []byte("a,b\n" + strings.Repeat("\"1\"\"\",2\n", 20<<20/8))
	require.NoError(t, doc.Load(huge))
	require.Greater(t, csvdoc.Held(doc), 1<<20)
	require.Less(t, csvdoc.Held(doc), 10*len(huge))
	require.NoError(t, doc.Load([]byte("a,b\n1,2\n")))
	require.Less(t, csvdoc.Held(doc), 1<<20)
}
