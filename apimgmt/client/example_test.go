package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/client"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNew() {
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: "https://gateway.example"})
	if err != nil {
		log.Fatal(err)
	}
	anyone := func(*http.Request, string) error { return nil } // a program has a Verifier instead
	server := httptest.NewServer(rest.NewHandler(publisher, &rest.HandlerOptions{Authorize: anyone}))
	defer server.Close()

	client, err := client.New(server.URL, &client.Options{Token: func(context.Context) (string, error) { return "token", nil }})
	if err != nil {
		log.Fatal(err)
	}
	definition := []byte(`{"openapi": "3.0.3", "info": {"title": "Models", "version": "1"}, "servers": [{"url": "https://models.example"}],
		"paths": {"/models": {"get": {"responses": {"200": {"description": "the models"}}}}}}`)
	record, err := client.Publish(context.Background(), apimgmt.Upload{Enabler: "repository", Definition: definition})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record.Routes[0].URL)
	_, err = client.Publish(context.Background(), apimgmt.Upload{Enabler: "other", Definition: definition})
	var refusal *apimgmt.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Kind, refusal.Conflicts[0].Enabler, refusal.Conflicts[0].Path)
	}
	// Output:
	// https://gateway.example/models
	// apimgmt: conflict repository ~/models$
}
