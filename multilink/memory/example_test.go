package memory_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
)

// Two hosts talk over one of two links.
func ExampleNewNetwork() {
	network := memory.NewNetwork(1, "wifi", "5g")
	defer network.Close()
	err := network.Impair(memory.Path{Link: "wifi"}, memory.Impairment{Delay: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}

	gateway, server := multilink.Key{8}, multilink.Key{16}
	at, called := underlay(network, "10.0.0.1", server)
	_, caller := underlay(network, "10.0.0.2", gateway)
	serverKey, _ := server.PublicKey()
	gatewayKey, _ := gateway.PublicKey()

	heard := make(chan string, 1)
	_, err = called.Open(multilink.TunnelPeer{PublicKey: gatewayKey}, func(packets [][]byte) {
		heard <- string(packets[0])
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tunnel, err := caller.Open(multilink.TunnelPeer{
		PublicKey: serverKey,
		Endpoint:  netip.AddrPortFrom(at, called.Port()),
	}, func([][]byte) {})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tunnel.MTU(), tunnel.Send([][]byte{[]byte("hello")}))
	fmt.Println(<-heard)
	// Output:
	// 1440 <nil>
	// hello
}

// underlay returns the end of link "wifi" at a new host.
func underlay(network *memory.Network, address string, private multilink.Key) (netip.Addr, multilink.Underlay) {
	host, err := network.Host(netip.MustParseAddr(address))
	if err != nil {
		panic(err)
	}
	u, err := host.Underlay(context.Background(), multilink.UnderlayConfig{Link: "wifi", PrivateKey: private})
	if err != nil {
		panic(err)
	}
	return host.Address(), u
}

// A pipe carries frames between a test and what it tests.
func ExampleNewPipe() {
	application, port := memory.NewPipe(0)
	defer port.Close()
	if err := application.Write([][]byte{[]byte("a frame")}); err != nil {
		fmt.Println(err)
		return
	}
	var batch multilink.Batch
	if err := port.Read(&batch); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, %d bytes of payload at most\n", batch.Frames()[0], port.MTU())
	// Output:
	// a frame, 1500 bytes of payload at most
}
