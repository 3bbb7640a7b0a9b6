package sparql_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/sparql"
)

func ExampleNew() {
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s\n", body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer store.Close()
	ctx := context.Background()
	publisher, err := sparql.New(nil).Connect(ctx, annotate.Topic{
		Name: "https://example.org/weather/", Broker: sparql.Type,
		Settings: sparql.Settings{Protocol: sparql.Update, URL: store.URL},
	}, annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	message := annotate.Message{ID: "1", Payload: []byte("<https://example.org/s> <https://example.org/p> \"21.5\" .\n")}
	if err := publisher.Publish(ctx, message, func(err error) { fmt.Println("confirmed:", err) }); err != nil {
		fmt.Println(err)
	}
	fmt.Println("close:", publisher.Close(ctx))
	// Output:
	// INSERT DATA { }
	// DROP SILENT GRAPH <https://example.org/weather/1> ;
	// INSERT DATA {
	// GRAPH <https://example.org/weather/1> {
	// <https://example.org/s> <https://example.org/p> "21.5" .
	// }
	// }
	//
	// confirmed: <nil>
	// close: <nil>
}
