// Command endpoint maps what a SPARQL endpoint and an HTTP interface answer. Both are in this
// program, so that it runs without a network.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/web"
)

//go:embed mapping.ttl
var mapping []byte

// key is what a program would read from its environment.
const key = "k3y"

// services stands for the store and the gateway.
func services() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sparql", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		fmt.Fprint(w, "sensor,room\nhttp://example.org/sensor/1,http://example.org/room/a\n")
	})
	mux.HandleFunc("GET /values", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != key {
			http.Error(w, "a key is needed", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `[{"id": 1, "celsius": 21.5}]`)
	})
	return mux
}

func run(ctx context.Context, host string, out io.Writer) (err error) {
	loaded, err := rml.Load(bytes.ReplaceAll(mapping, []byte("HOST"), []byte(host)), nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Format: rdf.Turtle})
	if err != nil {
		return err
	}
	client, err := web.New(&web.Options{Origins: []string{host}, Credentials: map[string]string{host: key}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return plan.NewMapper().Run(ctx, out, rml.Files{Fetch: client.Fetch})
}

func main() {
	server := httptest.NewServer(services())
	err := run(context.Background(), server.URL, os.Stdout)
	server.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
