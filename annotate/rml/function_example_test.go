package rml_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// A program gives mappings a function of its own.
func ExampleFunction() {
	fahrenheit := rml.Function{
		IRI:        "http://example.com/functions#fahrenheit",
		Parameters: []rml.Parameter{{IRIs: []string{"http://example.com/functions#celsius"}}},
		Apply: func(c rml.Call) ([]string, error) {
			celsius, err := strconv.ParseFloat(c.Arg(0), 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a temperature", c.Arg(0))
			}
			return []string{strconv.FormatFloat(celsius*9/5+32, 'f', 1, 64)}, nil
		},
	}
	mapping, err := rml.Load([]byte(`
@prefix rml: <http://w3id.org/rml/> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix fn: <http://example.com/functions#> .
@prefix ex: <http://example.com/> .

ex:Reading
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "http://example.com/reading/{$.id}" ] ;
  rml:predicateObjectMap [
    rml:predicate ex:fahrenheit ;
    rml:objectMap [
      rml:functionExecution [
        rml:function fn:fahrenheit ;
        rml:input [ rml:parameter fn:celsius ; rml:inputValueMap [ rml:reference "$.t" ] ]
      ] ;
      rml:datatype xsd:decimal
    ]
  ] .
`), nil)
	if err != nil {
		panic(err)
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NTriples, Functions: []rml.Function{fahrenheit}})
	if err != nil {
		panic(err)
	}
	mapper := plan.NewMapper()
	out, err := mapper.Append(nil, []byte(`{"id":7,"t":21.5}`))
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(out)
	_, err = mapper.Append(nil, []byte(`{"id":8,"t":"warm"}`))
	var failed *rml.MessageError
	fmt.Println(errors.As(err, &failed), failed.Err)
	// Output:
	// <http://example.com/reading/7> <http://example.com/fahrenheit> "70.7"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// true apply <http://example.com/functions#fahrenheit>: "warm" is not a temperature
}
