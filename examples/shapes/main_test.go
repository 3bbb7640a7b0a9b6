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
	// graphs:
	// <http://example.org/reading/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Reading> .
	// <http://example.org/reading/1> <http://example.org/celsius> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <http://example.org/reading/1> <http://example.org/room> <http://example.org/room/kitchen> .
	//
	// <http://example.org/reading/3> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Reading> .
	// <http://example.org/reading/3> <http://example.org/celsius> "20.9"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	//
	// failures:
	// <http://example.org/reading/2> <http://example.org/celsius>
	//   a reading has one temperature, from -40 to 60 degrees, but it is "215.5"^^<http://www.w3.org/2001/XMLSchema#decimal> (shapes, line 7)
	// received 3, invalid 1, warned of 1
}
