package rdf_test

import (
	"fmt"
	"testing"

	"github.com/iotenablers/enablers/annotate/rdf"
)

func ExampleNewEncoder() {
	e, err := rdf.NewEncoder(rdf.Turtle, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{
		{Name: "sosa", IRI: "http://www.w3.org/ns/sosa/"},
		{Name: "xsd", IRI: "http://www.w3.org/2001/XMLSchema#"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	obs := rdf.NewIRI("http://example.org/obs/1")
	var out []byte
	out = e.Append(out, rdf.Quad{Subject: obs, Predicate: rdf.NewIRI(rdf.Type), Object: rdf.NewIRI("http://www.w3.org/ns/sosa/Observation")})
	out = e.Append(out, rdf.Quad{Subject: obs, Predicate: rdf.NewIRI("http://www.w3.org/ns/sosa/hasSimpleResult"), Object: rdf.NewTyped("21.5", rdf.XSDDecimal)})
	out = e.AppendEnd(out)
	fmt.Print(string(out))
	// Output:
	// @prefix sosa: <http://www.w3.org/ns/sosa/> .
	// @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
	//
	// <http://example.org/obs/1> a sosa:Observation ;
	// 	sosa:hasSimpleResult "21.5"^^xsd:decimal .
}

func bench(b *testing.B, f rdf.Format) {
	e, _ := rdf.NewEncoder(f, &rdf.EncoderOptions{Prefixes: []rdf.Prefix{
		{Name: "sosa", IRI: "http://www.w3.org/ns/sosa/"}, {Name: "xsd", IRI: "http://www.w3.org/2001/XMLSchema#"},
		{Name: "ex", IRI: "http://example.com/"}, {Name: "qudt", IRI: "http://qudt.org/1.1/schema/qudt#"},
		{Name: "rdfs", IRI: "http://www.w3.org/2000/01/rdf-schema#"}, {Name: "geo", IRI: "http://www.w3.org/2003/01/geo/wgs84_pos#"},
	}})
	s := []byte("<http://example.com/obs/dev-1/17>")
	var st [12][2][]byte
	for i := range st {
		st[i][0] = fmt.Appendf(nil, "<http://www.w3.org/ns/sosa/property%d>", i)
		st[i][1] = fmt.Appendf(nil, `"21.%d"^^<http://www.w3.org/2001/XMLSchema#decimal>`, i)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i := range st {
			dst = e.AppendEncoded(dst, s, st[i][0], st[i][1], nil)
		}
		dst = e.AppendEnd(dst)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkEncoder(b *testing.B) {
	for f := rdf.NTriples; f <= rdf.JSONLD; f++ {
		b.Run(f.String(), func(b *testing.B) { bench(b, f) })
	}
}

func BenchmarkAppendLiteral(b *testing.B) {
	for _, lex := range []string{"21.5", "2024-05-01T12:00:00Z", "Grenzübergang 12 °C", "say \"hello\" to everybody"} {
		b.Run(lex, func(b *testing.B) {
			in := []byte(lex)
			dst := make([]byte, 0, 128)
			b.ReportAllocs()
			for b.Loop() {
				dst = rdf.AppendLiteral(dst[:0], in)
			}
		})
	}
}
