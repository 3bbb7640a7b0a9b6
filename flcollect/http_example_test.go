package flcollect_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
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

	server := httptest.NewServer(flcollect.NewHandler(jobs, nil))
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

func ExampleServer_Page() {
	jobs, err := flcollect.NewServer(flcollect.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/training/", http.StripPrefix("/training", jobs.Page(&flcollect.HandlerOptions{
		Clients: flcollect.ClientEndpoint{Address: ":8088"},
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

func ExampleParseJobConfig() {
	config, err := flcollect.ParseJobConfig([]byte(`{
		"strategy": "avg", "strategy_conf": {"min_fit_clients": "3"},
		"model_name": "tumours", "model_version": "1",
		"server_conf": {"num_rounds": 5}, "client_conf": [{"epochs": 1}],
		"privacy-mechanisms": {}, "configuration_id": 10
	}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.Rounds, config.StrategyConf, config.ClientConf[0]["batch_size"])

	_, err = flcollect.ParseJobConfig([]byte(`{"strategy": "avg"}`))
	fmt.Println(err)
	// Output:
	// 5 map[min_fit_clients:3] 32
	// read job configuration: model_name: is required (and 6 more)
}
