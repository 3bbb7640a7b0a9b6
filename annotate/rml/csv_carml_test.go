package rml_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

const carmlCSV = prefixes + `map:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:CSV ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://a/{ID}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "name" ] ] .`

func TestMapper_Tally_countsIrregularRowsInTheDialectCARML(t *testing.T) {
	m := newMapper(t, carmlCSV, &rml.Options{Dialect: rml.DialectCARML})
	for range 2 {
		out, err := m.Append(nil, []byte("id;Name\n1;a;b\n#2;b\n3\n4;\"c\" d\n"))
		require.NoError(t, err)
		require.Equal(t, "<http://a/1> <http://example.com/ns#p> \"a\" .\n<http://a/4> <http://example.com/ns#p> \"\\\"c\\\" d\" .\n",
			string(out))
		require.Equal(t, rml.Tally{Records: 3, Statements: 2, LongRows: 1, ShortRows: 1, CommentRows: 1}, m.Tally())
	}
}

func TestMapper_Run_readsCSVInPiecesInTheDialectCARML(t *testing.T) {
	var text strings.Builder
	text.WriteString("id|name\r\n")
	const rows = 60_000
	for n := range rows {
		fmt.Fprintf(&text, "%d| \"a, \"\"%d\"\"\r\nb\" |x\r\n", n, n)
	}
	require.Greater(t, text.Len(), 1<<20)
	m := newMapper(t, carmlCSV, &rml.Options{Dialect: rml.DialectCARML})
	var out bytes.Buffer
	require.NoError(t, m.Run(context.Background(), &out, rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text.String())), nil
	}}))
	require.Equal(t, rml.Tally{Records: rows, Statements: rows, LongRows: rows}, m.Tally())
	require.Contains(t, out.String(), `<http://a/59999> <http://example.com/ns#p> "a, \"59999\"\r\nb" .`)
}

func TestPlan_Explain_saysHowCSVIsReadInTheDialectCARML(t *testing.T) {
	mapping, err := rml.Load([]byte(carmlCSV), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, &rml.Options{Dialect: rml.DialectCARML})
	require.NoError(t, err)
	require.Contains(t, plan.Explain(), `the delimiter, one of ",;\t|", is detected in the header and the rows after it`)
	_, err = rml.Compile(mapping, nil)
	require.ErrorContains(t, err, "CSV has no iterators")
}

func TestMapper_IrregularRows_describesTheFirstOfEachKind(t *testing.T) {
	m := newMapper(t, carmlCSV, &rml.Options{Dialect: rml.DialectCARML})
	for range 2 { // a run forgets what the one before had
		out, err := m.Append(nil, []byte("id,name\n1,a\n2,b,c\n3,d,e,f\n4\n5,\"g\n6,\"h\"\n"))
		require.NoError(t, err)
		require.Equal(t, 4, strings.Count(string(out), "\n"))
		require.Equal(t, rml.Tally{Records: 5, Statements: 4, LongRows: 2, ShortRows: 1, TornRows: 1}, m.Tally())
		require.Equal(t, []rml.IrregularRows{
			{Fault: "more cells than the header, which are not read", Place: "row 2 (line 3)", Count: 2, Cells: 3, Columns: 2},
			{Fault: "fewer cells than the header, and no value in the other columns", Place: "row 4 (line 5)", Count: 1, Cells: 1, Columns: 2},
			{Fault: "a quoted cell of several lines with text after its closing quote, as when a row is cut inside quotes",
				Place: "row 5 (line 6)", Count: 1, Cells: 2, Columns: 2},
		}, m.IrregularRows())
		require.Equal(t, "2 rows of CSV with more cells than the header, which are not read, such as row 2 (line 3), "+
			"with 3 cells where the header has 2", m.IrregularRows()[0].String())
	}
	_, err := m.Append(nil, []byte("id,name\n1,a\n"))
	require.NoError(t, err)
	require.Empty(t, m.IrregularRows())
	_, err = m.Append(nil, []byte("id,name\n1,a\n2,\"b"))
	require.ErrorContains(t, err, "line 3 column 3: the quote that begins here is never closed")
}

func TestMapper_IrregularRows_countsOnOverPieces(t *testing.T) {
	text := "id,name\n" + strings.Repeat("1,a\n", 400_000) + "2\n3\n" // more than one piece
	m := newMapper(t, carmlCSV, &rml.Options{Dialect: rml.DialectCARML})
	require.NoError(t, m.Run(t.Context(), io.Discard, rml.LocalFiles("", strings.NewReader(text))))
	require.Equal(t, 2, m.Tally().ShortRows)
	require.Len(t, m.IrregularRows(), 1)
	require.Equal(t, "row 400001 (line 400002)", m.IrregularRows()[0].Place)
	require.Equal(t, 2, m.IrregularRows()[0].Count)
}

func TestPlan_LintSample_findsIrregularRows(t *testing.T) {
	text := strings.NewReplacer(`[ a carml:Stream ]`, `"a.csv"`, `; rml:iterator "$"`, "").Replace(carmlCSV)
	mapping, err := rml.Load([]byte(text), nil)
	require.NoError(t, err)
	for _, dialect := range []rml.Dialect{rml.DialectCARML, rml.DialectRML} {
		plan, err := rml.Compile(mapping, &rml.Options{Dialect: dialect})
		require.NoError(t, err)
		findings, err := plan.LintSample(t.Context(), rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("ID,name\n1,a\n2,b,c\n")), nil
		}})
		if dialect == rml.DialectRML {
			require.ErrorContains(t, err, "line 3 column 1: the row has 3 cells, expected 2 as in the header")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, `mapping: file "a.csv": one row of CSV with more cells than the header, which are not read, `+
			`such as row 2 (line 3), with 3 cells where the header has 2`, messages(findings))
	}
}
