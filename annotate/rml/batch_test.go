package rml_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

const rowMapping = prefixes +
	`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source "%s" ; rml:referenceFormulation ql:%s ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ] .
`

// generated is a file that is generated while it is read.
type generated struct {
	head  string
	row   func(i int) string
	rows  int
	next  int
	rest  string
	peak  uint64
	check int
}

func (g *generated) Read(p []byte) (int, error) {
	if g.rest == "" {
		switch {
		case g.next == 0 && g.head != "":
			g.rest = g.head
			g.head = ""
		case g.next == g.rows:
			return 0, io.EOF
		default:
			g.rest = g.row(g.next)
			g.next++
		}
	}
	if g.check > 0 && g.next%g.check == 0 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		g.peak = max(g.peak, stats.HeapAlloc)
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func (g *generated) files() rml.Files {
	return rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
		copied := *g
		return io.NopCloser(&copied), nil
	}}
}

// counter counts the lines written to it.
type counter struct{ lines int }

func (c *counter) Write(p []byte) (int, error) {
	c.lines += strings.Count(string(p), "\n")
	return len(p), nil
}

func TestMapper_Run_readsCSVInPieces(t *testing.T) {
	const rows = 200_000
	file := &generated{head: "id,v\n", rows: rows, row: func(i int) string {
		return fmt.Sprintf("%d,\"a quoted, and\nbroken cell %d\"\n", i, i)
	}}
	var out strings.Builder
	m := newMapper(t, fmt.Sprintf(rowMapping, "d.csv", "CSV"), nil)
	require.NoError(t, m.Run(context.Background(), &out, file.files()))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, rows)
	for _, i := range []int{0, 1, rows / 2, rows - 1} {
		require.Equal(t, fmt.Sprintf(`<http://a/%d> <http://example.com/ns#p> "a quoted, and\nbroken cell %d" .`, i, i),
			lines[i])
	}
}

func TestMapper_Run_namesThePlaceOfAnErrorInALaterPiece(t *testing.T) {
	file := &generated{head: "id,v\n", rows: 100_000, row: func(i int) string {
		if i == 99_998 {
			return "1,2,3\n"
		}
		return fmt.Sprintf("%d,some text that makes the row longer %d\n", i, i)
	}}
	err := newMapper(t, fmt.Sprintf(rowMapping, "d.csv", "CSV"), nil).Run(context.Background(), io.Discard, file.files())
	require.ErrorContains(t, err, `file "d.csv": CSV line 100000 column 1`)
}

// Memory depends on the length of a row or line, not on their number.
func TestMapper_Run_takesMemoryIndependentOfTheRows(t *testing.T) {
	for name, file := range map[string]*generated{
		"d.csv":    {head: "id,v\n", row: func(i int) string { return fmt.Sprintf("%d,%s\n", i, strings.Repeat("x", 100)) }},
		"d.ndjson": {row: func(i int) string { return fmt.Sprintf("{\"id\":%d,\"v\":%q}\n", i, strings.Repeat("x", 100)) }},
	} {
		t.Run(name, func(t *testing.T) {
			formulation := "JSONPath"
			if strings.HasSuffix(name, "csv") {
				formulation = "CSV"
			}
			if testing.Short() {
				t.Skip("measures memory")
			}
			m := newMapper(t, fmt.Sprintf(rowMapping, name, formulation), nil)
			file.rows = 200_000
			file.check = 5000
			var peak uint64
			files := rml.Files{Open: func(rml.Source) (io.ReadCloser, error) { return io.NopCloser(file), nil }}
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			out := &counter{}
			require.NoError(t, m.Run(context.Background(), out, files))
			require.Equal(t, file.rows, out.lines)
			peak = file.peak - min(file.peak, before.HeapAlloc)
			require.Less(t, peak, uint64(16<<20), "200,000 rows of 22 MB were mapped with a heap of %d bytes more", peak)
		})
	}
}

func TestMapper_Run_joinsAcrossFiles(t *testing.T) {
	const mapping = prefixes + `
map:Child a rr:TriplesMap ; rml:logicalSource [ rml:source "child.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://a/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:does ; rr:objectMap [ rr:parentTriplesMap map:Parent ;
  rr:joinCondition [ rr:child "sport" ; rr:parent "id" ] ] ] .
map:Parent a rr:TriplesMap ; rml:logicalSource [ rml:source "parent.jsonl" ; rml:referenceFormulation ql:JSONPath ] ;
  rr:subjectMap [ rr:template "http://b/{name}" ] .
`
	contents := map[string]string{
		"child.csv":    "id,sport\n1,10\n2,20\n3,30\n",
		"parent.jsonl": "{\"id\":10,\"name\":\"x\"}\n\n{\"id\":20,\"name\":\"y\"}\n",
	}
	files := rml.Files{Open: func(s rml.Source) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(contents[s.Name])), nil
	}}
	m := newMapper(t, mapping, nil)
	for range 2 {
		var out strings.Builder
		require.NoError(t, m.Run(context.Background(), &out, files))
		require.Equal(t, "<http://a/1> <http://example.com/ns#does> <http://b/x> .\n<http://a/2> "+
			"<http://example.com/ns#does> <http://b/y> .\n", out.String())
	}
}

func TestMapper_Run_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := &generated{head: "id,v\n", rows: 100_000, row: func(i int) string { return "1,2\n" }}
	err := newMapper(t, fmt.Sprintf(rowMapping, "d.csv", "CSV"), nil).Run(ctx, io.Discard, file.files())
	require.ErrorIs(t, err, context.Canceled)
}
