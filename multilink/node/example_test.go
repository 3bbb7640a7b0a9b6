package node_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

// An instance is a plane and documents.
func ExampleOpen() {
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
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-n.Ready()
	fmt.Println(n.Health())
	stop()
	fmt.Println(<-ended)
	// Output:
	// <nil>
	// <nil>
}
