// Command multilink bonds two links in a program of one's own, without rights over
// the machine: two hosts in memory, a bond on each, a class of traffic that goes
// over both links at once, and a failover.
//
//	go run ./examples/multilink
//
// On a real gateway, put multilink/host in place of memory.Host, with
// multilink/wg as its underlay: nothing else changes.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "multilink:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	network := memory.NewNetwork(1, "wifi0", "mesh0")
	defer func() { err = errors.Join(err, network.Close()) }()

	gateway, server := secret(), secret()
	gatewayKey, err := gateway.PublicKey()
	if err != nil {
		return err
	}
	serverKey, err := server.PublicKey()
	if err != nil {
		return err
	}
	serverAddress := netip.MustParseAddr("192.0.2.1")

	// Both sides name the same links. The server waits to be called, the
	// gateway gets its endpoint.
	at, err := join(ctx, network, serverAddress, state(server, multilink.PeerConfig{
		Name: "gateway", PublicKey: gatewayKey,
		Links: []multilink.PeerLink{{Link: "wifi0"}, {Link: "mesh0"}},
	}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.bond.Close()) }()
	from, err := join(ctx, network, netip.MustParseAddr("192.0.2.2"), state(gateway, multilink.PeerConfig{
		Name: "server", PublicKey: serverKey,
		Links: []multilink.PeerLink{
			{Link: "wifi0", Endpoint: netip.AddrPortFrom(serverAddress, 51820)},
			{Link: "mesh0", Endpoint: netip.AddrPortFrom(serverAddress, 51821)},
		},
	}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.bond.Close()) }()

	const frames = 200
	arrived := make(chan int, 1)
	go func() { arrived <- count(at.port, frames) }()
	if err := from.connected(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "connected over", from.bond.Status().Peers[0].ActiveLink)
	for i := range frames {
		if i == frames/2 {
			if err := network.Cut(memory.Path{Link: "wifi0"}); err != nil {
				return err
			}
			fmt.Fprintln(out, "wifi0 is cut")
		}
		if err := from.port.Write([][]byte{frame(byte(i))}); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintf(out, "%d of %d frames arrived, the last of them over %s\n", <-arrived, frames,
		from.bond.Status().Peers[0].ActiveLink)
	return nil
}

// secret is a new private key.
func secret() (k multilink.Key) {
	_, _ = rand.Read(k[:]) // it never fails
	return k
}

// state is an instance with two links and one peer. Telephony, by its DSCP, is
// sent over both links at once.
func state(private multilink.Key, peer multilink.PeerConfig) multilink.State {
	return multilink.State{
		PrivateKey: private,
		Port:       multilink.PortConfig{Name: "tap0"},
		Links: []settings.Link{
			{Name: "wifi0", Kind: settings.WiFi, Priority: 1, Listen: 51820},
			{Name: "mesh0", Kind: settings.Mesh, Priority: 2, Listen: 51821},
		},
		Peers: []multilink.PeerConfig{peer},
		Classes: []settings.Class{
			{Name: "telephony", Match: []settings.Rule{{DSCP: []int{46}}}, Policy: settings.Redundant, Control: true},
		},
	}
}

// instance is a bond and the end of its port that applications use.
type instance struct {
	bond *multilink.Bond
	port *memory.Port
}

func join(ctx context.Context, network *memory.Network, address netip.Addr, state multilink.State) (*instance, error) {
	host, err := network.Host(address)
	if err != nil {
		return nil, err
	}
	bond, err := multilink.New(multilink.Config{Host: host})
	if err != nil {
		return nil, err
	}
	if err := bond.Apply(ctx, state); err != nil {
		return nil, errors.Join(err, bond.Close())
	}
	port, err := host.Plug("tap0")
	if err != nil {
		return nil, errors.Join(err, bond.Close())
	}
	return &instance{bond: bond, port: port}, nil
}

// connected waits until the primary carries frames and the backup is ready.
func (i *instance) connected(ctx context.Context) error {
	for {
		ready := 0
		for _, link := range i.bond.Status().Links {
			if link.State == status.Up {
				ready++
			}
		}
		if ready == 2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// frame is a broadcast of a station, with a number in it.
func frame(number byte) []byte {
	f := make([]byte, 60)
	copy(f, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, number})
	return f
}

// count is how many frames arrive, until that many did or the port is closed.
func count(port *memory.Port, until int) (n int) {
	var batch multilink.Batch
	for ; n < until && port.Read(&batch) == nil; batch.Reset() {
		n += len(batch.Frames())
	}
	return n
}
