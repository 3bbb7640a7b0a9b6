package wasm_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/wasm"
)

// A mapping calls a function that is a WebAssembly module.
func ExampleCompile() {
	binary, err := os.ReadFile("testdata/functions.wasm")
	if err != nil {
		log.Fatal(err)
	}
	module, err := wasm.Compile(context.Background(), binary, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()

	mapping, err := rml.Load([]byte(`
@prefix rml: <http://w3id.org/rml/> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix fn: <http://example.com/fn#> .
@prefix ex: <http://example.com/> .

ex:Planet
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "http://example.com/planet/{$.id}" ] ;
  rml:predicateObjectMap [
    rml:predicate ex:name ;
    rml:objectMap [ rml:functionExecution [
      rml:function fn:upper ;
      rml:input [ rml:parameter fn:text ; rml:inputValueMap [ rml:reference "$.name" ] ]
    ] ]
  ] .
`), nil)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := rml.Compile(mapping, &rml.Options{Functions: module.Functions()})
	if err != nil {
		log.Fatal(err)
	}
	out, err := plan.NewMapper().Append(nil, []byte(`{"id":2,"name":"Venus"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(out))
	// Output:
	// <http://example.com/planet/2> <http://example.com/name> "VENUS" .
}
