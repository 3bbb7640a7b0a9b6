package rest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/rest"
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
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- jobs.Run(ctx) }()

	server := httptest.NewServer(rest.NewHandler(jobs, nil))
	answer, err := http.Get(server.URL + "/job/status/7")
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	_ = answer.Body.Close()
	fmt.Println(string(text))

	server.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// {"status":"INACTIVE","round":0,"id":-1}
	// <nil>
}
