package paessler_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/paessler"
)

func ExampleJSONPath() {
	mapping, err := rml.Load([]byte(`
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix ex: <http://example.com/> .
ex:Alarm a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ;
    rml:iterator "$.sensors[?(@.name =~ '^T[0-9]+$' && @.value > 30)]" ] ;
  rr:subjectMap [ rr:template "http://example.com/sensor/{name}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:alarm ; rr:objectMap [ rml:reference "value" ] ] .
`), nil)
	if err != nil {
		panic(err)
	}
	plan, err := rml.Compile(mapping,
		&rml.Options{Evaluators: map[rml.Formulation]rml.Evaluator{rml.JSONPath: paessler.JSONPath()}})
	if err != nil {
		panic(err)
	}
	out, err := plan.NewMapper().Append(nil,
		[]byte(`{"sensors":[{"name":"T1","value":31.50},{"name":"H1","value":80},{"name":"T2","value":19}]}`))
	if err != nil {
		panic(err)
	}
	fmt.Print(string(out))
	// Output: <http://example.com/sensor/T1> <http://example.com/alarm> "31.50" .
}
