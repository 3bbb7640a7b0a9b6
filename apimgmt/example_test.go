package apimgmt_test

import (
	"context"
	"fmt"
	"log"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/storage"
)

func Example() {
	ctx, gateway := context.Background(), apimgmt.NewMemoryGateway(nil) // or that of package gateway, or a Kong
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: gateway, GatewayURL: "https://gateway.example",
	})
	if err != nil {
		log.Fatal(err)
	}
	record, err := publisher.Publish(ctx, apimgmt.Upload{Enabler: "Weather", Description: "What the sky is like", Definition: []byte(`
openapi: 3.0.3
info: {title: Weather stations, version: 1.2.0}
servers: [{url: https://weather.example/v2}]
paths:
  /stations/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: fine}}}`)})
	if err != nil {
		log.Fatal(err)
	}
	served, err := gateway.Config(ctx)
	fmt.Println(record.Title, record.Version.Version, record.State, record.Routes[0].URL)
	fmt.Println(served.Routes[0].Name, err)
	// Output:
	// Weather stations 1.2.0 published https://gateway.example/stations/{id}
	// weather-1.2.0_stations-id_get <nil>
}

func ExampleNewMemoryGateway() {
	gateway := apimgmt.NewMemoryGateway([]string{"oidc", "cors"})
	kinds, err := gateway.Kinds(context.Background())
	fmt.Println(kinds, err)
	// Output: [oidc cors] <nil>
}

func ExampleParseState() {
	state, err := apimgmt.ParseState("deprecated")
	fmt.Println(state, state.Routed(), err)
	_, err = apimgmt.ParseState("retired")
	fmt.Println(err)
	// Output:
	// deprecated true <nil>
	// state "retired" is not one of draft, published, deprecated and sunset
}
