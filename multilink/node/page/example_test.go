package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

// A program mounts the pages where it likes, and decides who may open them.
func ExampleNewHandler() {
	n, err := node.Open(context.Background(), node.Config{
		Role:      node.Client,
		Plane:     nodetest.NewPlane("wlan0"), // a multilink.Bond, in a program
		Documents: storage.NewMemoryDocuments(),
		Port:      multilink.PortConfig{Name: "tap0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := page.NewHandler(n, &page.HandlerOptions{
		REST: rest.HandlerOptions{Authorize: func(*http.Request, string) error { return nil }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/radios/", http.StripPrefix("/radios", pages))
	for _, path := range []string{"/radios/", "/radios/api/status"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 text/html; charset=utf-8
	// 200 application/json
}
