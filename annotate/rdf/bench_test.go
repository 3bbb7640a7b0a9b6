package rdf_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// observation is a message of twelve statements about one subject, with the
// prefixes one would write it with.
type observation struct {
	prefixes []rdf.Prefix
	subject  []byte
	rest     [12][2][]byte
}

func newObservation() *observation {
	o := &observation{
		prefixes: []rdf.Prefix{
			{Name: "sosa", IRI: "http://www.w3.org/ns/sosa/"}, {Name: "xsd", IRI: "http://www.w3.org/2001/XMLSchema#"},
			{Name: "ex", IRI: "http://example.com/"}, {Name: "qudt", IRI: "http://qudt.org/1.1/schema/qudt#"},
			{Name: "rdfs", IRI: "http://www.w3.org/2000/01/rdf-schema#"}, {
				Name: "geo",
				IRI:  "http://www.w3.org/2003/01/geo/wgs84_pos#",
			},
		},
		subject: []byte("<http://example.com/obs/dev-1/17>"),
	}
	for i := range o.rest {
		o.rest[i][0] = fmt.Appendf(nil, "<http://www.w3.org/ns/sosa/property%d>", i)
		o.rest[i][1] = fmt.Appendf(nil, `"21.%d"^^<http://www.w3.org/2001/XMLSchema#decimal>`, i)
	}
	o.rest[0] = [2][]byte{[]byte("<" + rdf.Type + ">"), []byte("<http://www.w3.org/ns/sosa/Observation>")}
	return o
}

func (o *observation) append(dst []byte, e *rdf.Encoder) []byte {
	for i := range o.rest {
		dst = e.AppendEncoded(dst, o.subject, o.rest[i][0], o.rest[i][1], nil)
	}
	return e.AppendEnd(dst)
}

func TestEncoder_allocatesNothing(t *testing.T) {
	o := newObservation()
	for _, f := range rdf.Formats() {
		e, err := rdf.NewEncoder(f, &rdf.EncoderOptions{Prefixes: o.prefixes})
		require.NoError(t, err)
		dst := o.append(nil, e)
		require.Zero(t, testing.AllocsPerRun(100, func() { dst = o.append(dst[:0], e) }), f)
	}
}

func TestAppendTerm_allocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 256)
	plain, other := []byte("2024-05-01T12:00:00Z"), []byte("Grenzübergang\n")
	term := rdf.NewTyped("a\tb", rdf.XSDInteger)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		dst = rdf.AppendLiteral(dst[:0], plain)
		dst = rdf.AppendLiteral(dst[:0], other)
		dst = rdf.AppendTerm(dst[:0], term)
	}))
	iri, tag := []byte("http://example.org/ü"), []byte("de-Latn-AT-1996-x-a")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		rdf.ValidIRI(iri)
		rdf.ValidLabel(plain)
		rdf.ValidLangTag(tag)
	}))
}

func BenchmarkEncoder(b *testing.B) {
	o := newObservation()
	for _, f := range rdf.Formats() {
		b.Run(f.String(), func(b *testing.B) {
			e, err := rdf.NewEncoder(f, &rdf.EncoderOptions{Prefixes: o.prefixes})
			require.NoError(b, err)
			dst := o.append(nil, e)
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				dst = o.append(dst[:0], e)
			}
		})
	}
}

func BenchmarkAppendLiteral(b *testing.B) {
	for name, lexical := range map[string]string{
		"number": "21.5", "time": "2024-05-01T12:00:00Z", "german": "Grenzübergang 12 °C", "quotes": "say \"hello\" " +
			"to everyone",
	} {
		b.Run(name, func(b *testing.B) {
			in, dst := []byte(lexical), make([]byte, 0, 128)
			b.ReportAllocs()
			for b.Loop() {
				dst = rdf.AppendLiteral(dst[:0], in)
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	o := newObservation()
	for _, f := range readable() {
		b.Run(f.String(), func(b *testing.B) {
			e, err := rdf.NewEncoder(f, &rdf.EncoderOptions{Prefixes: o.prefixes})
			require.NoError(b, err)
			var doc []byte
			for i := range 1000 {
				o.subject = fmt.Appendf(o.subject[:0], "<http://example.com/obs/dev-1/%d>", i)
				for k := range o.rest {
					doc = e.AppendEncoded(doc, o.subject, o.rest[k][0], o.rest[k][1], nil)
				}
			}
			doc = e.AppendEnd(doc)
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := rdf.NewReader(bytes.NewReader(doc), f, nil)
				require.NoError(b, err)
				n := 0
				for ; err == nil; n++ {
					_, err = r.Read()
				}
				if err != io.EOF || n != 12_001 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkValidIRI(b *testing.B) {
	iri := []byte("http://example.com/obs/dev-1/17")
	for b.Loop() {
		rdf.ValidIRI(iri)
	}
}

func BenchmarkParseTerm(b *testing.B) {
	term := []byte(`"21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rdf.ParseTerm(term); err != nil {
			b.Fatal(err)
		}
	}
}
