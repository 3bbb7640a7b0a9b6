package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// The server checks the bearer tokens of its callers. They are given by
// Keycloak, which it reaches at another address than people do.
func ExampleNew() {
	verifier, err := oidc.New(oidc.Config{
		Issuer:    "https://platform.example/auth/realms/OpenAPI",
		Discovery: "http://127.0.0.1:8080/auth/realms/OpenAPI/.well-known/openid-configuration",
		Timeout:   2 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer verifier.Close()

	_, err = verifier.Verify(context.Background(), "") // what follows "Bearer "
	fmt.Println(err, errors.Is(err, oidc.ErrMissing))
	// Output: verify token: oidc: no token true
}

// A web application sends a browser to the issuer.
func ExampleNewClient() {
	client, err := oidc.NewClient(oidc.ClientConfig{
		Config: oidc.Config{
			Issuer: "https://platform.example/auth/realms/OpenAPI", ClientID: "public-frontend",
			Endpoints: oidc.Endpoints{Authorization: "https://platform.example/auth/realms/OpenAPI/protocol/openid-connect/auth"},
		},
		RedirectURL: "https://portal.example/callback",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	login, err := client.Begin(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	where, _ := url.Parse(login.URL) // keep the login for this browser, and redirect it there
	fmt.Println(where.Query().Get("response_type"), where.Query().Get("scope"), where.Query().Get("code_challenge_method"))
	// Output: code openid profile email S256
}
