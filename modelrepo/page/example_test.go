package page_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/page"
	"github.com/iotenablers/enablers/storage"
)

// The pages work wherever they are mounted.
func ExampleNewHandler() {
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/models/", http.StripPrefix("/models", page.NewHandler(repository, nil)))
	server := httptest.NewServer(mux)
	defer server.Close()

	form := url.Values{"name": {"w3c"}, "metadata": {"title: Models of the W3C"}}
	answer, err := http.PostForm(server.URL+"/models/new", form)
	if err != nil {
		log.Fatal(err)
	}
	_ = answer.Body.Close() // it is the page of the namespace
	fmt.Println(answer.Request.URL.Path, answer.StatusCode)
	namespace, err := repository.Namespace(context.Background(), "w3c", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(namespace.Metadata["title"])
	// Output:
	// /models/n/w3c 200
	// [Models of the W3C]
}
