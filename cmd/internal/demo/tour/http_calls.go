package tour

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
)

// The API that [Calls] publishes, and the path below which the gateway serves it.
const (
	API  = "demo-weather"
	Path = "/demo-weather"
)

// CallsConfig configures [Calls]. All fields are required.
type CallsConfig struct {
	// Publisher has the API while it is called.
	Publisher *apimgmt.Publisher
	// Gateway is the address of the gateway.
	Gateway string
	// Client calls it.
	Client *http.Client
	// Every is the time between two calls.
	Every time.Duration
}

// definition is that of the service; %s is its address.
const definition = `openapi: 3.0.3
info: {title: Weather of the demonstration, version: "1.0", description: "One call in ten fails, so that there is something to see."}
servers: [{url: "%s"}]
paths:
  /forecast/{city}:
    get:
      summary: The forecast of a city
      parameters: [{name: city, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: The forecast}, "404": {description: The city is not known}}
`

// Calls runs a small service, publishes its API, and calls it through the gateway until ctx
// ends. Then it removes the API.
func Calls(ctx context.Context, config CallsConfig) (err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service := &http.Server{Handler: http.HandlerFunc(forecast), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- service.Serve(listener) }()
	defer func() {
		_ = service.Close() // what is under way is not waited for
		if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, failed)
		}
	}()
	_, err = config.Publisher.Publish(ctx, apimgmt.Upload{
		Enabler: API, Description: "A small service of the demonstration, called some times a second", Path: Path, By: "demo",
		Definition: fmt.Appendf(nil, definition, "http://"+listener.Addr().String()),
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if failed := config.Publisher.Delete(tidy, API, "demo", apimgmt.Condition{}); !errors.Is(failed, apimgmt.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}()
	cities := []string{"Lisbon", "Karlsruhe", "Oslo", "Athens", "Graz"}
	for n := 0; wait(ctx, config.Every); n++ {
		city := cities[n%len(cities)]
		if n%10 == 9 {
			city = "Atlantis"
		}
		call(ctx, config.Client, config.Gateway+Path+"/forecast/"+city)
	}
	return nil
}

// call sends a request. The gateway's page shows what comes of it.
func call(ctx context.Context, client *http.Client, address string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	answer, err := client.Do(request)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// forecast is the service: it knows all cities but one, and fails now and then.
func forecast(w http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(20*time.Millisecond)))
	switch {
	case r.URL.Path == "/forecast/Atlantis":
		http.Error(w, "The city is not known.", http.StatusNotFound)
	case rand.IntN(20) == 0:
		http.Error(w, "The forecast is not ready.", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"temperature": 10 + 15*rand.Float64()}) // a caller that went away is no error
	}
}
