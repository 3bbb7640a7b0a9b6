package ngsild_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/ngsild"
)

func ExampleNew() {
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s\n%s\n", r.Method, r.URL, body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer broker.Close()
	ctx := context.Background()
	publisher, err := ngsild.New(nil).Connect(ctx, annotate.Topic{
		Name: "https://example.org/weather/", Broker: ngsild.Type, Settings: ngsild.Settings{URL: broker.URL},
	}, annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	message := annotate.Message{Payload: []byte(`<urn:s:1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Station> .
<urn:s:1> <urn:wind> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
`)}
	if err := publisher.Publish(ctx, message, func(err error) { fmt.Println("confirmed:", err) }); err != nil {
		fmt.Println(err)
	}
	fmt.Println("close:", publisher.Close(ctx))
	// Output:
	// POST /ngsi-ld/v1/entityOperations/upsert?options=update
	// []
	// POST /ngsi-ld/v1/entityOperations/upsert?options=update
	// [{"id":"urn:s:1","type":"urn:Station","urn:wind":{"type":"Property","value":21.5}}]
	// confirmed: <nil>
	// close: <nil>
}

// startPlain starts a server that answers everything with a status, and shows the credentials.
func startPlain(t *testing.T, status int) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}
