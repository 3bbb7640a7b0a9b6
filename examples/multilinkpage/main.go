// Command multilinkpage is an instance of multi-link in a program of one's own: its REST
// interface and its page, over a plane that only plays links. It touches no network but
// its own address, and needs no rights, so that the page can be tried anywhere.
//
//	go run ./examples/multilinkpage [-role server|client] [-token TOKEN]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	role := flag.String("role", "server", "server or client")
	token := flag.String("token", "a token for the trial", "the token that the page asks for")
	_ = flag.String("data", "", "not used: nothing is kept")
	flag.Parse()
	if err := run(ctx, node.Role(*role), *token, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "multilinkpage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, role node.Role, token string, out io.Writer) error {
	play := newPlay()
	config := node.Config{
		Role: role, Plane: play, Documents: storage.NewMemoryDocuments(),
		Port: multilink.PortConfig{Name: "tap0"}, Interfaces: play.interfaces,
	}
	if role == node.Server {
		config.Port.Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}
	}
	n, err := node.Open(ctx, config)
	if err != nil {
		return err
	}
	handler, err := page.NewHandler(n, &page.HandlerOptions{REST: rest.HandlerOptions{Token: token}, Root: true})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	return n.Run(ctx)
}
