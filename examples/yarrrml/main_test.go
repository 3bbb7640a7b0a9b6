package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

func Example() {
	if err := run(context.Background(), os.Stdout, io.Discard); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <http://example.org/reading/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/sosa/Observation> .
	// <http://example.org/reading/1> <http://qudt.org/schema/qudt/value> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <http://example.org/reading/1> <http://www.w3.org/ns/sosa/hasFeatureOfInterest> <http://example.org/room/7> .
	// <http://example.org/reading/2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/sosa/Observation> .
	// <http://example.org/reading/2> <http://qudt.org/schema/qudt/value> "19"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <http://example.org/reading/2> <http://www.w3.org/ns/sosa/hasFeatureOfInterest> <http://example.org/room/8> .
	// <http://example.org/room/7> <http://www.w3.org/2000/01/rdf-schema#label> "north corridor"@en .
	// <http://example.org/room/8> <http://www.w3.org/2000/01/rdf-schema#label> "library"@en .
}

func TestRun_writesTheMappingInTurtle(t *testing.T) {
	var turtle bytes.Buffer
	require.NoError(t, run(t.Context(), io.Discard, &turtle))
	mapping, err := rml.Load(turtle.Bytes(), nil)
	require.NoError(t, err)
	require.Len(t, mapping.Sources(), 2)
}
