package xmldoc_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/antchfx/xmlquery"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// message is an observation of 393 bytes with 11 elements to read.
const message = `<?xml version="1.0"?>
<observation station="S-17" ` +
	`seq="4211"><ts>2024-03-07T12:30:00Z</ts><temperature>21.5</temperature><humidity>48.2</humidity><pressure>` +
	`1013.25</pressure><wind>3.4</wind><direction>270</direction><latitude>52.2297</latitude><longitude>` +
	`21.0122</longitude><site>Warsaw &amp; roof</site><quality code="A">good</quality><battery>3.71</battery>` +
	`</observation>
`

var references = []string{
	"@station", "@seq", "ts", "temperature", "humidity", "pressure", "wind", "direction", "latitude", "longitude",
	"site", "quality", "quality/@code", "battery",
}

// reader reads references from one message after another.
type reader struct {
	doc        input.Document
	iterator   input.Path
	references []input.Path
	records    []input.Node
	values     []input.Value
}

func newReader(t testing.TB, iterator string, references ...string) *reader {
	t.Helper()
	c := xmldoc.New(spaces, input.Limits{MaxDepth: 256, MaxNodes: 1 << 23})
	r := &reader{}
	var err error
	r.iterator, err = c.CompileIterator(iterator)
	require.NoError(t, err)
	for _, name := range references {
		ref, err := c.CompileReference(name)
		require.NoError(t, err)
		require.True(t, xmldoc.Plain(ref), name)
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
	data := []byte(message)
	r := newReader(t, "/observation", references...)
	require.Equal(t, len(references), r.read(t, data))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.read(t, data) }))

	spaced := []byte(strings.Replace(strings.Replace(message, "<observation",
		`<p:observation xmlns:p="http://p/" xmlns="http://other/"`, 1), "</observation", "</p:observation", 1))
	r = newReader(t, "//p:observation", ".", "..//@code", "text()", "*[2]", "../*/@*")
	require.Equal(t, 1+1+0+1+2, r.read(t, spaced))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.read(t, spaced) }))
}

func TestDocument_Load_freesTheBuffersOfAHugeInput(t *testing.T) {
	huge := []byte("<a>" + strings.Repeat("<b c='d'>e&amp;f</b>\n", 1_000_000) + "</a>")
	r := newReader(t, "/a", "b[1000000]/@c")
	require.Equal(t, 1, r.read(t, huge))
	require.Less(t, xmldoc.Held(r.doc), 20*len(huge))
	require.NoError(t, r.doc.Load([]byte("<a>x</a>")))
	require.Less(t, xmldoc.Held(r.doc), 2<<20)
}

func BenchmarkRead(b *testing.B) {
	data := []byte(message)
	b.Run("xmldoc", func(b *testing.B) {
		r := newReader(b, "/observation", references...)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			r.read(b, data)
		}
	})
	b.Run("xmldoc load only", func(b *testing.B) {
		r := newReader(b, "/observation", references...)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := r.doc.Load(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("xmlquery", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			root, err := xmlquery.Parse(bytes.NewReader(data))
			if err != nil {
				b.Fatal(err)
			}
			for _, record := range xmlquery.Find(root, "/observation") {
				for _, ref := range references {
					if len(xmlquery.Find(record, ref)) != 1 {
						b.Fatal(ref)
					}
				}
			}
		}
	})
	b.Run("encoding/xml tokens", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			for tokens := xml.NewDecoder(bytes.NewReader(data)); ; {
				if _, err := tokens.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func ExampleNew() {
	c := xmldoc.New([]xmldoc.Namespace{{Prefix: "s", IRI: "http://example.com/school#"}}, input.Limits{MaxDepth: 256})
	students, _ := c.CompileIterator("/s:students/s:student")
	name, _ := c.CompileReference("s:name")
	initial, _ := c.CompileReference("substring(s:name, 1, 1)")
	doc := c.NewDocument()
	err := doc.Load([]byte(`<students xmlns="http://example.com/school#"><student><name>Venus</name></student>` +
		`<student><name>Serena</name></student></students>`))
	if err != nil {
		fmt.Println(err)
	}
	records, _ := doc.Records(nil, students)
	for _, r := range records {
		values, _ := doc.Values(nil, r, name)
		values, _ = doc.Values(values, r, initial)
		fmt.Printf("%s: %s %s\n", doc.Place(r), values[0].Text, values[1].Text)
	}
	// Output:
	// /students[1]/student[1]: Venus V
	// /students[1]/student[2]: Serena S
}
