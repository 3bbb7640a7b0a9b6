package page_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNewHandler() {
	jobs, err := flcollect.NewServer(flcollect.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/training/", http.StripPrefix("/training", page.NewHandler(jobs, &page.HandlerOptions{
		Clients: page.ClientEndpoint{Address: ":8088"},
	})))

	server := httptest.NewServer(mux)
	defer server.Close()
	answer, err := http.Get(server.URL + "/training/")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, strings.Contains(string(text), "There is no job yet."), err)
	// Output: 200 OK true <nil>
}
