package csvdoc_test

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

const message = "device,seq,ts,temperature,humidity,pressure,wind,direction,latitude,longitude,site\r\n" +
	"station-17,4211,2024-03-07T12:30:00Z,21.5,48.2,1013.25,3.4,270,52.2297,21.0122,\"Warsaw, roof\"\r\n"

// reader reads 11 columns of every row of one message after another.
type reader struct {
	doc        input.Document
	iterator   input.Path
	references []input.Path
	records    []input.Node
	values     []input.Value
}

func newReader(t testing.TB) *reader {
	t.Helper()
	c := csvdoc.New(csvdoc.Dialect{}, input.Limits{MaxNodes: 1 << 20})
	r := &reader{}
	var err error
	r.iterator, err = c.CompileIterator("")
	require.NoError(t, err)
	for _, name := range []string{
		"device", "seq", "ts", "temperature", "humidity", "pressure", "wind", "direction", "latitude", "longitude",
		"site",
	} {
		ref, err := c.CompileReference(name)
		require.NoError(t, err)
		r.references = append(r.references, ref)
	}
	r.doc = c.NewDocument()
	return r
}

// read returns the number of values read from a message.
func (r *reader) read(t testing.TB, data []byte) int {
	if err := r.doc.Load(data); err != nil {
		t.Fatal(err)
	}
	r.records, _ = r.doc.Records(r.records[:0], r.iterator)
	r.values = r.values[:0]
	for _, record := range r.records {
		for _, ref := range r.references {
			var err error
			if r.values, err = r.doc.Values(r.values, record, ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	return len(r.values)
}

func TestDocument_Load_allocatesNothing(t *testing.T) {
	r := newReader(t)
	data := []byte(message)
	require.Equal(t, 11, r.read(t, data))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.read(t, data) }))
}

func BenchmarkRead(b *testing.B) {
	data := []byte(message)
	b.Run("csvdoc", func(b *testing.B) {
		r := newReader(b)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			r.read(b, data)
		}
	})
	b.Run("encoding/csv", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
