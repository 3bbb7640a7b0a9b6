package xmldoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// BenchmarkRecord reads one reference at each of 200 records, by expressions that are no plain steps.
func BenchmarkRecord(b *testing.B) {
	for _, expr := range []string{
		"v[@u='C']", "v[last()]", "n[starts-with(., 'W')]", "concat(@id, '-', n)", "string-length(n)", "starts-with(n, 'War')", "count(v)",
		"substring-before(n, ' ')", "v * 2",
	} {
		b.Run(expr, func(b *testing.B) {
			read := recordReader(b, expr)
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}

// recordReader returns a function that reads a reference at each of 200 records.
func recordReader(t testing.TB, expr string) func() {
	t.Helper()
	c := xmldoc.New(nil, input.Limits{})
	iterator, err := c.CompileIterator("/r/t")
	require.NoError(t, err)
	reference, err := c.CompileReference(expr)
	require.NoError(t, err)
	doc := c.NewDocument()
	const record = "<t id='17'><v u='C'>21.5</v><v u='F'>70.7</v><n>Warsaw roof</n></t>"
	require.NoError(t, doc.Load([]byte("<r>"+strings.Repeat(record, 200)+"</r>")))
	records, err := doc.Records(nil, iterator)
	require.NoError(t, err)
	var values []input.Value
	return func() {
		for _, record := range records {
			if values, err = doc.Values(values[:0], record, reference); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDocument_Values_allocatesLittlePerRecord counts the allocations of a record, which are those of texts.
func TestDocument_Values_allocatesLittlePerRecord(t *testing.T) {
	for expr, most := range map[string]float64{
		"v[@u='C']": 0, "v[last()]": 0, "n[starts-with(., 'W')]": 1, "substring-before(n, ' ')": 1.1, "concat(@id, '-', n)": 3.1,
		"string-length(n)": 1.1, "starts-with(n, 'War')": 1.1, "count(v)": 0.1, "v * 2": 2.1,
	} {
		require.LessOrEqual(t, testing.AllocsPerRun(5, recordReader(t, expr)), most*200+20, expr)
	}
}
