package rest_test

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
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

// An instance is configured over its REST interface, with a token.
func ExampleNewHandler() {
	n, err := node.Open(context.Background(), node.Config{
		Role:      node.Server,
		Plane:     nodetest.NewPlane("wlan0"), // a multilink.Bond, in a program
		Documents: storage.NewMemoryDocuments(),
		Port:      multilink.PortConfig{Name: "tap0", Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := rest.NewHandler(n, &rest.HandlerOptions{Token: "sixteen characters or more"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	r := httptest.NewRequest(http.MethodPost, "/interfaces/add", strings.NewReader(`{"name": "wlan0", "endpoint": "203.0.113.9:51820"}`))
	r.Header.Set("Authorization", "Bearer sixteen characters or more")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Location"))
	stop()
	fmt.Println(<-ended)
	// Output:
	// 201 /interfaces/wlan0
	// <nil>
}

// The first start creates a token; the others find it.
func ExampleLoadToken() {
	dir, err := os.MkdirTemp("", "token")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "token")
	first, fresh, err := rest.LoadToken(name)
	fmt.Println(len(first) >= rest.ShortestToken, fresh, err)
	again, fresh, err := rest.LoadToken(name)
	fmt.Println(again == first, fresh, err)
	// Output:
	// true true <nil>
	// true false <nil>
}
