package rest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/storage"
)

// oneToken verifies one token; a program has an oidc.Verifier.
type oneToken struct{}

func (oneToken) Verify(_ context.Context, token string) (*oidc.Claims, error) {
	if token != "correct horse battery staple" {
		return nil, oidc.ErrSignature
	}
	return &oidc.Claims{Username: "reader", Roles: []string{"Open-Caller"}}, nil
}

func ExampleNewHandler() {
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: "https://gateway.example"})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(rest.NewHandler(publisher, &rest.HandlerOptions{Verifier: oneToken{}}))
	defer server.Close()

	for _, token := range []string{"guessed", "correct horse battery staple"} {
		request, err := http.NewRequest(http.MethodGet, server.URL+"/OpenAPIDocumentation/", nil)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			log.Fatal(err)
		}
		_ = answer.Body.Close() // it was only read
		fmt.Println(answer.StatusCode, string(body))
	}
	// Output:
	// 401 {"detail":"The token is not accepted: bad signature."}
	// 200 []
}
