package multilink_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
)

// A bond makes a state hold: here a link and a port, and no peer yet.
func ExampleNew() {
	network := memory.NewNetwork(1, "wifi0")
	defer network.Close()
	host, err := network.Host(netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	bond, err := multilink.New(multilink.Config{Host: host})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bond.Close()
	err = bond.Apply(context.Background(), multilink.State{
		PrivateKey: multilink.Key{8},
		Port:       multilink.PortConfig{Name: "tap0"},
		Links:      []settings.Link{{Name: "wifi0", Kind: settings.WiFi}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, link := range bond.Status().Links {
		fmt.Printf("%s is %s: %s\n", link.Name, link.State, link.Reason)
	}
	// Output:
	// wifi0 is down: no peer
}
