package devidp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/storage"
)

// A development server brings its own identity provider. What was generated is
// shown to the person who started it.
func ExampleOpen() {
	provider, err := devidp.Open(context.Background(), devidp.Config{
		BaseURL:   "http://127.0.0.1:8999/auth",
		Realm:     devidp.Demo("http://127.0.0.1:8999", "http://127.0.0.1:8100"),
		Documents: storage.NewMemoryDocuments(),
	})
	if err != nil {
		log.Fatal(err)
	}
	http.NewServeMux().Handle("/auth/", provider.Handler())
	fmt.Println(provider.Issuer())
	fmt.Println(len(provider.Issued().Passwords), "passwords and", len(provider.Issued().Secrets), "secrets were generated")
	// Output:
	// http://127.0.0.1:8999/auth/realms/OpenAPI
	// 4 passwords and 2 secrets were generated
}
