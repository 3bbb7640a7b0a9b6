package yarrrml_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
)

func ExampleLoad() {
	mapping, err := yarrrml.Load([]byte(`
prefixes:
  ex: http://example.com/
mappings:
  station:
    sources:
      - ['~jsonpath', '$']
    s: ex:$(id)
    po:
      - [a, ex:Station]
      - [ex:temperature, $(t), xsd:decimal]
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := rml.Compile(mapping, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := plan.NewMapper().Append(nil, []byte(`{"id": "EWR", "t": 3.9}`))
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// <http://example.com/EWR> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/Station> .
	// <http://example.com/EWR> <http://example.com/temperature> "3.9"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <nil>
}

func ExampleWrite() {
	document, err := yarrrml.ReadRML([]byte(`@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.com/> .
ex:Station a rr:TriplesMap ;
  rml:logicalSource [ rml:source "stations.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://example.com/{id}" ; rr:class ex:Station ] ;
  rr:predicateObjectMap [ rr:predicate ex:temperature ; rr:objectMap [ rml:reference "t" ; rr:datatype xsd:decimal ] ] .
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, leftOut, err := yarrrml.Write(document)
	fmt.Printf("%s%d %v\n", text, len(leftOut), err)
	// Output:
	// prefixes:
	//   xsd: http://www.w3.org/2001/XMLSchema#
	//   ex: http://example.com/
	// mappings:
	//   Station:
	//     sources:
	//       - [stations.csv~csv]
	//     subjects: ex:$(id)
	//     po:
	//       - [a, 'ex:Station']
	//       - ['ex:temperature', $(t), 'xsd:decimal']
	// 0 <nil>
}

func ExampleWriteRML() {
	document, err := yarrrml.Read([]byte(`
prefixes: {ex: "http://example.com/"}
mappings:
  station:
    sources: [[stations.csv~csv]]
    s: ex:$(id)
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", yarrrml.WriteRML(document))
	// Output:
	// @prefix : <http://mapping.example.com/> .
	// @prefix rr: <http://www.w3.org/ns/r2rml#> .
	// @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
	// @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
	// @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
	//
	// :station a rr:TriplesMap ;
	//   rdfs:label "station" ;
	//   rml:logicalSource [
	//     a rml:LogicalSource ;
	//     rml:source "stations.csv" ;
	//     rml:referenceFormulation ql:CSV
	//   ] ;
	//   rr:subjectMap [
	//     a rr:SubjectMap ;
	//     rr:template "http://example.com/{id}"
	//   ] .
}
