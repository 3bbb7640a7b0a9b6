package wg_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net/netip"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/wg"
)

// A server and a client, each with an underlay for the link "wifi", here both
// on one machine. A packet of a bond begins with a header of nine bytes.
func ExampleOpen() {
	var serverKey, clientKey multilink.Key
	rand.Read(serverKey[:])
	rand.Read(clientKey[:])
	serverPublic, err := serverKey.PublicKey()
	if err != nil {
		log.Fatal(err)
	}
	clientPublic, err := clientKey.PublicKey()
	if err != nil {
		log.Fatal(err)
	}

	server, err := wg.Open(context.Background(), multilink.UnderlayConfig{Link: "wifi", PrivateKey: serverKey}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, err := wg.Open(context.Background(), multilink.UnderlayConfig{Link: "wifi", PrivateKey: clientKey}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	arrived := make(chan string, 1)
	// The server waits to be called.
	_, err = server.Open(multilink.TunnelPeer{PublicKey: clientPublic}, func(packets [][]byte) {
		arrived <- string(packets[0][multilink.HeaderSize:])
	})
	if err != nil {
		log.Fatal(err)
	}
	// The client calls.
	tunnel, err := client.Open(multilink.TunnelPeer{
		PublicKey: serverPublic,
		Endpoint:  netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), server.Port()),
	}, func([][]byte) {})
	if err != nil {
		log.Fatal(err)
	}
	packet := append(make([]byte, multilink.HeaderSize), "a frame"...)
	if err := tunnel.Send([][]byte{packet}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-arrived)
	fmt.Println("longest packet:", tunnel.MTU())
	// Output:
	// a frame
	// longest packet: 1429
}
