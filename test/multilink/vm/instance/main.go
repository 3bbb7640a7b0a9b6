//go:build linux

// Command instance is an instance of multi-link with a plane of the kernel, for
// the virtual machine. It takes the flags of cmd/multilink that it needs, and
// remembers nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/kernel"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	role := flag.String("role", "", "server or client")
	listen := flag.String("listen", "127.0.0.1:3333", "address of the REST interface")
	tap := flag.String("tap", "bonded", "device that applications talk through")
	address := flag.String("address", "", "address of a server on the bonded network")
	flag.String("data", "", "is not used")
	flag.Parse()
	port := multilink.PortConfig{Name: *tap}
	if *address != "" {
		port.Addresses = []netip.Prefix{netip.MustParsePrefix(*address)}
	}
	if err := run(node.Role(*role), *listen, port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(role node.Role, listen string, port multilink.PortConfig) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	plane, err := kernel.Open(ctx, kernel.Config{Name: "instance", Logger: log})
	if err != nil {
		return err
	}
	defer plane.Close()
	n, err := node.Open(ctx, node.Config{
		Role: role, Plane: plane, Documents: storage.NewMemoryDocuments(), Port: port, Logger: log,
	})
	if err != nil {
		return err
	}
	handler, err := page.NewHandler(n, &page.HandlerOptions{
		REST: rest.HandlerOptions{Token: os.Getenv("MULTILINK_TOKEN"), Logger: log}, Root: true,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String())
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	return n.Run(ctx)
}
