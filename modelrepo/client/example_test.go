package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNew() {
	repository, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(rest.NewHandler(repository, nil))
	defer server.Close()

	ctx := context.Background()
	client, err := client.New(server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}))
	err = client.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{})
	fmt.Println(errors.Is(err, modelrepo.ErrExists))
	// Output:
	// <nil>
	// true
}
