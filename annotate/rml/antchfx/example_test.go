package antchfx_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/antchfx"
)

func ExampleXPath() {
	mapping, err := rml.Load([]byte(`
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix ex: <http://example.com/> .
ex:Book a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:XPath ; rml:iterator "//book" ] ;
  rr:subjectMap [ rr:template "http://example.com/book/{@id}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:title ; rr:objectMap [ rml:reference "lower-case(title)" ] ] .
`), nil)
	if err != nil {
		panic(err)
	}
	plan, err := rml.Compile(mapping,
		&rml.Options{Evaluators: map[rml.Formulation]rml.Evaluator{rml.XPath: antchfx.XPath()}})
	if err != nil {
		panic(err)
	}
	// The books are in a namespace, which XPath would not select them from.
	out, err := plan.NewMapper().Append(nil,
		[]byte(`<shelf xmlns="http://example.com/ns"><book id="1"><title>ONE</title></book></shelf>`))
	if err != nil {
		panic(err)
	}
	fmt.Print(string(out))
	// Output: <http://example.com/book/1> <http://example.com/title> "one" .
}
