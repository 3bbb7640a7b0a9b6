// Command apimgmt embeds API management into a program of its own: a publisher
// takes an OpenAPI definition, and a gateway in the same process serves what it
// defines. It needs no portal, folder or sign-in.
//
//	go run ./examples/apimgmt
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// weather is the definition of the service; %s is where it is.
const weather = `
openapi: 3.0.3
info: {title: Weather, version: "1.0"}
servers: [{url: %s}]
paths:
  /forecast/{city}:
    get:
      parameters: [{name: city, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: The forecast}}
`

func run(ctx context.Context, out io.Writer) error {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "sunny, says %s", r.URL.Path)
	}))
	defer service.Close()

	// The service is on this machine, so that has to be allowed.
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	front, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback})
	if err != nil {
		return err
	}
	defer func() { _ = front.Close() }() // the process ends
	entities, err := admin.Open(ctx, admin.StoreConfig{Gateway: front, Documents: storage.NewMemoryDocuments()})
	if err != nil {
		return err
	}
	server := httptest.NewServer(front)
	defer server.Close()

	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: entities, GatewayURL: server.URL, Upstreams: apimgmt.Upstreams{Private: loopback},
	})
	if err != nil {
		return err
	}
	record, err := publisher.Publish(ctx, apimgmt.Upload{
		Enabler: "weather", Description: "Forecasts", By: "example",
		Definition: fmt.Appendf(nil, weather, service.URL),
	})
	if err != nil {
		return err
	}
	for _, route := range record.Routes {
		fmt.Fprintf(out, "%s %s is %s\n", route.Method, route.Path, record.Version.State)
	}
	for _, path := range []string{"/forecast/Lisbon", "/elsewhere"} {
		status, body, err := get(ctx, server.URL+path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d %s\n", path, status, body)
	}
	return nil
}

func get(ctx context.Context, address string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}
