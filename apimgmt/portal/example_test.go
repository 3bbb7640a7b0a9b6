package portal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/storage"
)

// The program around a portal signs people in. In this one no user is signed in, so that
// the portal redirects to the sign-in, and sends no request to the identity provider.
func ExampleNew() {
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents:  storage.NewMemoryDocuments(),
		Blobs:      storage.NewMemoryBlobs(),
		Gateway:    apimgmt.NewMemoryGateway(nil),
		GatewayURL: "https://gateway.example.org",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier, err := oidc.New(oidc.Config{Issuer: "http://127.0.0.1:1/auth/realms/OpenAPI"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = verifier.Close() }()
	site, err := portal.New(portal.Config{
		Publisher:  publisher,
		Verifier:   verifier,
		URL:        "https://portal.example.org",
		GatewayURL: "https://gateway.example.org",
		SignedIn:   func(*http.Request) (string, error) { return "", portal.ErrSignedOut },
		SignIn:     "/sign-in",
		SignOut:    "/sign-out",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	site.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/apis/weather", nil))
	fmt.Println(answer.Code, answer.Header().Get("Location"))
	// Output: 303 /sign-in?to=%2Fapis%2Fweather
}
