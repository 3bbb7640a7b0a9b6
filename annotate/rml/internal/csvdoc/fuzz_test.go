package csvdoc_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// FuzzLoad reads arbitrary text in arbitrary dialects: nothing may panic, an
// error has a place within the text, pieces read as the whole, and in the
// plain dialect the cells are those of encoding/csv.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"a,b\n1,2\n", "a,b\r\n\"x\r\n\"\"\",2", "\xEF\xBB\xBFa\n\n1", "a,b\n1\n", "a\n\"", "a\n#\"\n'\\''",
		"a,a\n , \n",
	} {
		f.Add([]byte(s), uint32(0))
		f.Add([]byte(s), uint32(0x5FF))
	}
	f.Fuzz(func(t *testing.T, data []byte, bits uint32) {
		d := csvdoc.Dialect{
			Null:     []string{},
			Blank:    csvdoc.Blank(bits & 3 % 3),
			Trim:     csvdoc.Trim(bits >> 2 & 3),
			SkipRows: int(bits >> 4 & 1),
			NoHeader: bits>>5&1 == 1,
			NoQuotes: bits>>6&1 == 1,
		}
		if bits>>7&1 == 1 && !d.NoQuotes {
			d.Escape = '\\'
		}
		if bits>>8&1 == 1 {
			d.Comment = '#'
		}
		if bits>>9&1 == 1 {
			d.Delimiter = '\t'
		}
		if bits>>10&1 == 1 && !d.NoHeader {
			d.HeaderRows = 2
		}
		c := csvdoc.New(d, input.Limits{})
		doc := c.NewDocument().(*csvdoc.Document)
		if err := doc.Load(data); err != nil {
			var syntax *input.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.LessOrEqual(t, syntax.Offset, len(data))
			return
		}
		cells := csvdoc.Cells(doc)
		require.NoError(t, doc.Load(data), "the header is known now")
		require.Equal(t, cells, csvdoc.Cells(doc))
		if cut := c.Split(data[:len(data)/2]); cut > 0 {
			pieces := c.NewDocument().(*csvdoc.Document)
			if pieces.Load(data[:cut]) == nil {
				got := csvdoc.Cells(pieces)
				require.NoError(t, pieces.LoadRows(data[cut:]))
				require.Equal(t, cells, append(got, csvdoc.Cells(pieces)...))
			}
		}
		if bits != 0 {
			return
		}
		want, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")))).ReadAll()
		if errors.Is(err, csv.ErrFieldCount) {
			t.Fatal("a ragged row was accepted")
		}
		require.NoError(t, err, "accepted what encoding/csv refuses")
		for _, row := range cells {
			for i, text := range row {
				row[i] = strings.ReplaceAll(text, "\r\n", "\n") // encoding/csv rewrites line ends in quotes
			}
		}
		require.Equal(t, want[1:], cells)
	})
}

// FuzzLoad_lenient reads arbitrary text in the lenient mode: nothing may panic, only an open
// quote, an empty input and text that is not UTF-8 are errors, pieces read as the whole, and
// what a document read before has no effect.
func FuzzLoad_lenient(f *testing.F) {
	for _, s := range []string{
		"id,name\n1,\"A\" x\n", "id;name\r\n1;3,14\r\n#2;2\r\n3\r\n4;5;6", "\xEF\xBB\xBF#c\n\"i\nd\"|n\n1|\"a\"\"b\"c|\n",
		"a\tb\r1\t 2 \r \r3\t\"4 \"", "a,b;c\n1;2\n3;4\n5,6\n\n7,8\n", "a\n\"\"\"x\"\" y\" z\n\n\"b\"",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, bits uint8) {
		d := csvdoc.Dialect{Lenient: true, Null: []string{}, NoHeader: bits&1 == 1, NoQuotes: bits&2 == 2}
		if bits&4 == 4 {
			d.Delimiter = ';'
		}
		if bits&8 == 8 {
			d.Blank = csvdoc.SkipBlankRows
		}
		const sample = 24
		c := csvdoc.New(d, input.Limits{})
		csvdoc.Sample(c, sample)
		doc := c.NewDocument().(*csvdoc.Document)
		if err := doc.Load(data); err != nil {
			var syntax *input.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.LessOrEqual(t, syntax.Offset, len(data))
			require.Regexp(t, "never closed|input ended|not UTF-8", syntax.Reason)
			return
		}
		cells, irregular := csvdoc.Cells(doc), doc.Irregular()
		require.NoError(t, doc.Load([]byte("x|y\n1|2\n")))
		require.NoError(t, doc.Load(data))
		require.Equal(t, cells, csvdoc.Cells(doc))
		require.NoError(t, doc.Load(data), "the header is known now")
		require.Equal(t, cells, csvdoc.Cells(doc))
		require.Equal(t, irregular, doc.Irregular())
		if len(data) <= sample+1 {
			return
		}
		pieces := c.NewDocument().(*csvdoc.Document)
		cut := pieces.Split(data[:max(sample+1, len(data)/2)], true)
		if cut == 0 {
			return
		}
		require.NoError(t, pieces.Load(data[:cut]))
		got, counted := csvdoc.Cells(pieces), pieces.Irregular()
		for rest := data[cut:]; len(rest) > 0; rest = rest[cut:] {
			if cut = pieces.Split(rest[:(len(rest)+1)/2], false); cut == 0 {
				cut = len(rest)
			}
			require.NoError(t, pieces.LoadRows(rest[:cut]))
			before := len(got)
			got = append(got, csvdoc.Cells(pieces)...)
			more := pieces.Irregular()
			counted.Comments += more.Comments
			for _, kind := range []struct{ all, more *csvdoc.IrregularRows }{
				{&counted.Long, &more.Long}, {&counted.Short, &more.Short}, {&counted.Torn, &more.Torn}} {
				if kind.all.Count == 0 && kind.more.Count > 0 {
					kind.all.First = kind.more.First + input.Node(before)
					kind.all.Cells = kind.more.Cells
				}
				kind.all.Count += kind.more.Count
			}
		}
		require.Equal(t, cells, got)
		require.Equal(t, irregular, counted)
	})
}
