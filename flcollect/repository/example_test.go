package repository_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

func exampleResult() flcollect.Result {
	return flcollect.Result{
		ModelName: "base", ModelVersion: "v1", TrainingID: "12", ConfigurationID: "10", Rounds: 3,
		Weights: strategy.Model{tensor.FromFloat32s([]float32{1, 2})},
	}
}

func ExampleNew() {
	store, err := repository.New(repository.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(store.Store(context.Background(), exampleResult()))
	_, err = store.Model(context.Background(), "base", "v1")
	fmt.Println(err)
	// Output:
	// <nil>
	// get model "base v1": flcollect: the repository has no parameters of that model
}

func ExampleNewHandler() {
	store, err := repository.New(repository.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(repository.NewHandler(store, nil))
	defer server.Close()

	answer, err := http.Post(server.URL+"/strategy", "application/json",
		strings.NewReader(`{"strategy_name":"careful","meta":{"class":"FedTrimmedAvg","beta":0.1}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = answer.Body.Close()
	answer, err = http.Get(server.URL + "/strategy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	list, _ := io.ReadAll(answer.Body)
	fmt.Println(string(list))
	// Output:
	// [{"meta":{"beta":"0.1","class":"FedTrimmedAvg"},"strategy_name":"careful","strategy_description":null,"strategy_id":null}]
}

func ExampleNewClient() {
	store, err := repository.New(repository.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(repository.NewHandler(store, nil))
	defer server.Close()

	client, err := repository.NewClient(repository.ClientConfig{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Store(context.Background(), exampleResult()))
	fmt.Println(client.Store(context.Background(), exampleResult())) // its answer got lost, perhaps
	// Output:
	// <nil>
	// <nil>
}
