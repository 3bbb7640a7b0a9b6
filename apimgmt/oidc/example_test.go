package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
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
