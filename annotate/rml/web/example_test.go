package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/web"
)

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		fmt.Fprint(w, "station\nhttp://example.org/EWR\n")
	}))
	defer server.Close()
	mapping, err := rml.Load([]byte(`@prefix rml: <http://w3id.org/rml/> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix formats: <http://www.w3.org/ns/formats/> .
@prefix ex: <http://example.org/> .
ex:Stations a rml:TriplesMap ;
  rml:logicalSource [
    rml:source [ a sd:Service ; sd:endpoint <`+server.URL+`/sparql> ] ;
    rml:referenceFormulation formats:SPARQL_Results_CSV ;
    rml:iterator "SELECT ?station { ?station a <http://example.org/Station> }" ] ;
  rml:subjectMap [ rml:reference "station" ; rml:class ex:Place ] .`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := rml.Compile(mapping, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := web.New(&web.Options{Origins: []string{server.URL}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	if err := plan.NewMapper().Run(context.Background(), os.Stdout, rml.Files{Fetch: client.Fetch}); err != nil {
		fmt.Println(err)
	}
	// Output: <http://example.org/EWR> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Place> .
}

func ExampleParseOrigin() {
	origin, err := web.ParseOrigin("https://Example.org:443/")
	fmt.Println(origin, err)
	// Output: https://example.org <nil>
}
