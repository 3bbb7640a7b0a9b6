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
