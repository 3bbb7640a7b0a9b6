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

// A portal needs a publisher and an identity provider. Here no user is signed in, so
// the provider is not asked.
func ExampleNew() {
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Gateway: apimgmt.NewMemoryGateway(
			nil), GatewayURL: "https://gateway.example.org",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	realm := oidc.Config{Issuer: "http://127.0.0.1:1/auth/realms/OpenAPI", ClientID: "public-frontend"}
	client, err := oidc.NewClient(oidc.ClientConfig{Config: realm, RedirectURL: "https://portal.example.org" + portal.AnswerPath})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	verifier, err := oidc.New(realm)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = verifier.Close() }()
	site, err := portal.New(portal.Config{
		Publisher: publisher, Client: client, Verifier: verifier,
		URL: "https://portal.example.org", GatewayURL: "https://gateway.example.org",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	site.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/apis/weather", nil))
	fmt.Println(answer.Code, answer.Header().Get("Location"))
	// Output: 303 ../login?back=%2Fapis%2Fweather
}
