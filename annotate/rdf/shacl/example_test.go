package shacl_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
)

func ExampleLoad() {
	shapes, err := shacl.Load([]byte(`
		@prefix sh: <http://www.w3.org/ns/shacl#> .
		@prefix ex: <http://example.org/> .
		ex:Reading a sh:NodeShape ; sh:targetSubjectsOf ex:celsius ;
			sh:property [ sh:path ex:celsius ; sh:maxInclusive 60 ; sh:message "the sensor is broken" ] .`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := shapes.Validate([]rdf.Quad{{
		Subject: rdf.NewIRI("http://example.org/1"), Predicate: rdf.NewIRI("http://example.org/celsius"),
		Object: rdf.NewTyped("85", rdf.XSDInteger),
	}})
	fmt.Println(report.Conforms(), err)
	fmt.Println(report.Results[0].Message, report.Results[0].Value.Value)
	// Output:
	// false <nil>
	// the sensor is broken 85
}
