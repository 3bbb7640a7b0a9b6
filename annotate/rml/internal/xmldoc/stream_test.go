package xmldoc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// streamSource is a compiler with compiled iterators.
type streamSource struct {
	compiler   *xmldoc.Compiler
	iterators  []input.Path
	references []input.Path
}

func newStreamSource(t *testing.T, exprs ...string) streamSource {
	s := streamSource{compiler: xmldoc.New([]xmldoc.Namespace{{Prefix: "n", IRI: "urn:n"}}, input.Limits{MaxDepth: 20})}
	for _, expr := range exprs {
		p, err := s.compiler.CompileIterator(expr)
		require.NoError(t, err)
		s.iterators = append(s.iterators, p)
	}
	for _, expr := range []string{".", "@id", "n:b", "count(.//*)"} {
		p, err := s.compiler.CompileReference(expr)
		require.NoError(t, err)
		s.references = append(s.references, p)
	}
	require.Empty(t, s.compiler.Streams(s.iterators, nil))
	return s
}

func (s streamSource) describe(t *testing.T, dst []string, d *xmldoc.Document) []string {
	for _, iterator := range s.iterators {
		nodes, err := d.Records(nil, iterator)
		require.NoError(t, err)
		for _, n := range nodes {
			text := fmt.Sprintf("%s %s", iterator, d.Place(n))
			for _, reference := range s.references {
				values, err := d.Values(nil, n, reference)
				require.NoError(t, err)
				for _, v := range values {
					text += fmt.Sprintf(" %s=%q", reference, v.Text)
				}
			}
			dst = append(dst, text)
		}
	}
	slices.Sort(dst)
	return dst
}

func (s streamSource) whole(t *testing.T, text string) ([]string, error) {
	d := s.compiler.NewDocument().(*xmldoc.Document)
	if err := d.Load([]byte(text)); err != nil {
		return nil, err
	}
	return s.describe(t, nil, d), nil
}

func (s streamSource) streamed(t *testing.T, text string, window int) ([]string, error) {
	d := s.compiler.NewDocument().(*xmldoc.Document)
	d.SetWindow(window)
	d.Open(iotest.OneByteReader(strings.NewReader(text)), s.iterators, nil, 1<<20)
	var records []string
	for {
		more, err := d.Next()
		if err != nil {
			return nil, err
		}
		if !more {
			return records, nil
		}
		records = s.describe(t, records, d)
	}
}

func (s streamSource) equal(t *testing.T, text string, window int) {
	t.Helper()
	whole, err := s.whole(t, text)
	streamed, streamErr := s.streamed(t, text, window)
	require.Equal(t, err == nil, streamErr == nil, "window %d, text %q: %v, %v", window, text, err, streamErr)
	require.Equal(t, whole, streamed, "window %d, text %q", window, text)
}

var streamTexts = []string{
	`<?xml version="1.0" encoding="UTF-8"?><!-- x --><rows><row id="1"/> <row id="2">é&amp;</row><x/><row><row/></row></rows><!-- y --> `,
	`<rows xmlns="urn:n" xmlns:m="urn:m" m:a=">"><m:x/><row m:id="1" id="2"><b>1</b><![CDATA[<row>]]></row><m:row><b>2</b></m:row></rows>`,
	"<a>\r\n<b id='&lt;'><row>1</row><row>2</row></b>\n<b><row>3</row></b><c><row>4</row><row/></c></a>",
	`<row><row id="1"><row id="2"/></row><b><row id="3"/></b></row>`, `<rows/>`, `<x:rows xmlns:x="urn:n"><x:row/></x:rows>`,
	`<rows><row></rows>`, `<rows><row/>`, `<rows><row/></rows><rows/>`, `<rows><row/></rows>x`, `<rows><row a="1" a="2"/></rows>`,
	`<rows><row>&x;</row></rows>`, `<rows><y:row/></rows>`, "<rows><row>\x01</row></rows>", "<rows>\xff</rows>", `x<rows/>`, ``, ` `,
	`<!DOCTYPE rows><rows><row/></rows>`, `<?xml version="1.0" encoding="ISO-8859-1"?><rows/>`, `<rows><row><!-- a -- b --></row></rows>`,
	`<rows><?pi x?><row/><?xml version="1.0"?></rows>`, `<a/><?xml version="1.0"?>`, ` <?xml version="1.0"?><a/>`,
}

var streamIterators = [][]string{
	{"/rows/row"}, {"//row"}, {"/a/b/row"}, {"/a//row"}, {"/*/*"}, {"//*"}, {"/n:rows/n:row"}, {"//b/row", "/a/c"},
	{"/rows"}, {"//row//row"}, {"//b"},
}

func TestDocument_Next_givesTheRecordsOfTheWholeAtEveryWindow(t *testing.T) {
	for _, exprs := range streamIterators {
		s := newStreamSource(t, exprs...)
		for _, text := range streamTexts {
			for window := 1; window <= len(text)+2; window++ {
				s.equal(t, text, window)
			}
		}
	}
}

func TestDocument_Next_namesThePlaceOfAnError(t *testing.T) {
	s := newStreamSource(t, "/rows/row")
	text := "<rows>\n" + strings.Repeat("<row id='1'>x</row>\n", 20_000) + "<row>&x;</row></rows>"
	_, whole := s.whole(t, text)
	_, streamed := s.streamed(t, text, 256<<10)
	require.Error(t, whole)
	require.Equal(t, whole, streamed)
}

func TestCompiler_Streams_saysWhyNot(t *testing.T) {
	for _, c := range []struct{ iterator, reference, reason string }{
		{"/", "a", "the iterator / selects the whole document"},
		{"/rows/row[2]", "a", "the iterator /rows/row[2] is more than names of elements"},
		{"/rows/row", "../@id", "the reference ../@id may look outside of its record"},
		{"/rows/row", "//x", "the reference //x may look outside of its record"},
		{"/rows/row", "count(preceding-sibling::row)", "the reference count(preceding-sibling::row) may look outside of its record"},
	} {
		compiler := xmldoc.New(nil, input.Limits{})
		iterator, err := compiler.CompileIterator(c.iterator)
		require.NoError(t, err)
		_, err = compiler.CompileReference(c.reference)
		require.NoError(t, err)
		require.Equal(t, c.reason, compiler.Streams([]input.Path{iterator}, nil))
	}
}

func FuzzDocument_Next_equalsTheWhole(f *testing.F) {
	for i, text := range streamTexts {
		f.Add(text, uint8(i), uint16(7*i))
	}
	f.Fuzz(func(t *testing.T, text string, nth uint8, window uint16) {
		if len(text) > 1<<12 {
			return
		}
		newStreamSource(t, streamIterators[int(nth)%len(streamIterators)]...).equal(t, text, 1+int(window)%1024)
	})
}
