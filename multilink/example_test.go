package multilink_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
)

func Example() {
	network := memory.NewNetwork(1, "wifi0", "wwan0") // on a machine: package host, with package wg for the tunnels
	defer network.Close()
	host, err := network.Host(netip.MustParseAddr("192.0.2.7"))
	if err != nil {
		log.Fatal(err)
	}
	bond, err := multilink.New(multilink.Config{Host: host})
	if err != nil {
		log.Fatal(err)
	}
	defer bond.Close()
	err = bond.Apply(context.Background(), multilink.State{
		PrivateKey: multilink.Key{8},
		Port:       multilink.PortConfig{Name: "tap0"}, // what applications send to this device crosses the bond
		Links:      []settings.Link{{Name: "wifi0", Kind: settings.WiFi, Priority: 1}, {Name: "wwan0", Kind: settings.FiveG, Priority: 2}},
		Peers: []multilink.PeerConfig{{Name: "server", PublicKey: multilink.Key{9}, Links: []multilink.PeerLink{
			{Link: "wifi0", Endpoint: netip.MustParseAddrPort("192.0.2.1:51820")},
			{Link: "wwan0", Endpoint: netip.MustParseAddrPort("192.0.2.1:51821")},
		}}},
	})
	for _, link := range bond.Status().Links {
		fmt.Println(link.Name, link.State, err) // up as soon as the peer answers
	}
	// Output:
	// wifi0 down <nil>
	// wwan0 down <nil>
}
