package orchestrator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/flcollect/orchestrator"
	"github.com/iotenablers/enablers/flcollect/report"
)

func ExampleNewClient() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.URL.Path, string(body))
	}))
	defer server.Close()

	client, err := orchestrator.NewClient(orchestrator.Config{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.RoundDone(context.Background(), report.RoundDone{ModelName: "base", ModelVersion: "v1", Round: 1}))
	// Output:
	// /FL_traininground {"model_name":"base","model_version":"v1","round":1}
	// <nil>
}
