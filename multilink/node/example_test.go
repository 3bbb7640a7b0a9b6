package node_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
)

// An instance is a plane, documents and a token.
func ExampleOpen() {
	n, err := node.Open(context.Background(), node.Config{
		Role:      node.Server,
		Plane:     newPlane("wlan0"), // a multilink.Bond, in a program
		Documents: storage.NewMemoryDocuments(),
		Port:      multilink.PortConfig{Name: "tap0", Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}},
		Token:     "sixteen characters or more",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	for n.Health() != nil {
		continue
	}
	r := httptest.NewRequest(http.MethodPost, "/interfaces/add", strings.NewReader(`{"name": "wlan0", "endpoint": "203.0.113.9:51820"}`))
	r.Header.Set("Authorization", "Bearer sixteen characters or more")
	w := httptest.NewRecorder()
	n.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Location"))
	stop()
	fmt.Println(<-ended)
	// Output:
	// 201 /interfaces/wlan0
	// <nil>
}

// A program mounts the pages where it likes, and decides who may open them.
func ExampleNode_Page() {
	n, err := node.Open(context.Background(), node.Config{
		Role:      node.Client,
		Plane:     newPlane("wlan0"), // a multilink.Bond, in a program
		Documents: storage.NewMemoryDocuments(),
		Port:      multilink.PortConfig{Name: "tap0"},
		Authorize: func(*http.Request, string) error { return nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/radios/", http.StripPrefix("/radios", n.Page(nil)))
	for _, path := range []string{"/radios/", "/radios/api/status"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 text/html; charset=utf-8
	// 200 application/json
}

// The first start makes a token; the others find it.
func ExampleLoadToken() {
	dir, err := os.MkdirTemp("", "token")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "token")
	first, fresh, err := node.LoadToken(name)
	fmt.Println(len(first) >= node.ShortestToken, fresh, err)
	again, fresh, err := node.LoadToken(name)
	fmt.Println(again == first, fresh, err)
	// Output:
	// true true <nil>
	// true false <nil>
}
