package rml_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

const exampleMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix map: <http://example.com/mapping/> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .

map:Observation a rr:TriplesMap ;
  rml:logicalSource [
    rml:source [ a carml:Stream ] ;
    rml:referenceFormulation ql:JSONPath ;
    rml:iterator "$"
  ] ;
  rr:subjectMap [ rr:template "http://example.com/obs/{device}/{seq}" ; rr:class sosa:Observation ] ;
  rr:predicateObjectMap [ rr:predicate sosa:hasSimpleResult ; rr:objectMap [ rml:reference "value" ] ] .
`

func ExampleLoad() {
	_, err := rml.Load([]byte(strings.Replace(exampleMapping, "rr:subjectMap", "rr:subjctMap", 1)), nil)
	var wrong *rml.MappingError
	fmt.Println(errors.As(err, &wrong), wrong.Line, wrong.Node)
	// Output: true 9 triples map map:Observation
}

func ExampleCompile() {
	mapping, err := rml.Load([]byte(exampleMapping), nil)
	if err != nil {
		panic(err)
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.Turtle})
	if err != nil {
		panic(err)
	}
	out, err := plan.NewMapper().Append(nil, []byte(`{"device":"d1","seq":7,"value":"21.5"}`))
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(out)
	// Output:
	// @prefix sosa: <http://www.w3.org/ns/sosa/> .
	//
	// <http://example.com/obs/d1/7> a sosa:Observation ;
	// 	sosa:hasSimpleResult "21.5" .
}

func ExampleMapper_RunLines() {
	mapping, err := rml.Load([]byte(exampleMapping), nil)
	if err != nil {
		panic(err)
	}
	plan, err := rml.Compile(mapping, nil)
	if err != nil {
		panic(err)
	}
	lines := strings.NewReader(`{"device":"d1","seq":1,"value":"20"}
{"device":"d1","seq":2}
`)
	var out bytes.Buffer
	if err := plan.NewMapper().RunLines(context.Background(), &out, lines); err != nil {
		panic(err)
	}
	fmt.Print(out.String())
	// Output:
	// <http://example.com/obs/d1/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/sosa/Observation> .
	// <http://example.com/obs/d1/1> <http://www.w3.org/ns/sosa/hasSimpleResult> "20" .
	// <http://example.com/obs/d1/2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/sosa/Observation> .
}

func ExampleLocalFiles() {
	files := rml.LocalFiles("testdata", nil)
	_, err := files.Open(rml.Source{Kind: rml.SourceStream, Name: "in"})
	fmt.Println(err)
	// Output: open stream "in": no such input
}

func ExampleParseDialect() {
	dialect, err := rml.ParseDialect("carml")
	if err != nil {
		panic(err)
	}
	fmt.Println(dialect == rml.DialectCARML)
	// Output: true
}

func ExampleLoadStatements() {
	about := func(subject rdf.Term, predicate string, object rdf.Term, line int) rml.MappingStatement {
		return rml.MappingStatement{Quad: rdf.Quad{Subject: subject, Predicate: rdf.NewIRI(predicate), Object: object}, Line: line}
	}
	station := rdf.NewIRI("http://example.com/station")
	_, err := rml.LoadStatements([]rml.MappingStatement{
		about(station, rdf.Type, rdf.NewIRI("http://w3id.org/rml/TriplesMap"), 7),
	}, []rdf.Prefix{{Name: "ex", IRI: "http://example.com/"}}, nil)
	fmt.Println(err)
	// Output: mapping line 7, triples map ex:station: it has no logical source: expected exactly one logicalSource or logicalTable
}
