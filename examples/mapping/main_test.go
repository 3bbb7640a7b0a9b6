package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// @prefix sosa: <http://www.w3.org/ns/sosa/> .
	// @prefix qudt: <http://qudt.org/schema/qudt/> .
	// @prefix ex: <http://example.org/> .
	//
	// <http://example.org/obs/d1/0> a sosa:Observation ;
	// 	sosa:hasFeatureOfInterest <http://example.org/room/north%20corridor> ;
	// 	qudt:value "20.0"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <http://example.org/obs/d1/1> a sosa:Observation ;
	// 	sosa:hasFeatureOfInterest <http://example.org/room/north%20corridor> ;
	// 	qudt:value "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <http://example.org/obs/d2/0> a sosa:Observation ;
	// 	qudt:value "0.0"^^<http://www.w3.org/2001/XMLSchema#decimal> .
}
