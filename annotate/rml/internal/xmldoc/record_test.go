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
	for _, expr := range []string{"v[@u='C']", "concat(@id, '-', n)", "string-length(n)", "v * 2", "substring-before(n, ' ')", "count(v)"} {
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
			values, err = doc.Values(values[:0], record, reference)
			require.NoError(t, err)
		}
	}
}

// TestDocument_Values_allocatesLittlePerRecord counts the allocations of a record, of which some are texts.
func TestDocument_Values_allocatesLittlePerRecord(t *testing.T) {
	for expr, most := range map[string]float64{"v[@u='C']": 2, "v[last()]": 2, "n[starts-with(., 'W')]": 4, "substring-before(n, ' ')": 5,
		"concat(@id, '-', n)": 9} {
		require.LessOrEqual(t, testing.AllocsPerRun(5, recordReader(t, expr)), most*200+20, expr)
	}
}
