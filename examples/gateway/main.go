// Command gateway is an API gateway in a program of one's own, with Kong's Admin API and
// the page for people at another address. What is changed there is kept in the folder
// -data. The gateway answers "/hello" itself, and has an upstream with a target that
// nothing answers at.
//
//	go run ./examples/gateway -data /tmp/gateway
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	data := flag.String("data", "data", "folder of the data")
	flag.Parse()
	if err := run(ctx, *data, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data string, out io.Writer) (err error) {
	store, err := disk.Open(ctx, data, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	kept, err := admin.Open(ctx, admin.StoreConfig{Gateway: g, Documents: storage.Prefixed(store.Documents(), "gateway/")})
	if err != nil {
		return err
	}
	if err := kept.Publish(ctx, "enabler:hello", hello()); err != nil {
		return err
	}
	api, err := admin.New(admin.Config{Store: kept})
	if err != nil {
		return err
	}
	listen := func(handler http.Handler, name string) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }()
		context.AfterFunc(ctx, func() { _ = server.Close() })
		fmt.Fprintf(out, "listening on http://%s (%s)\n", listener.Addr(), name)
		return nil
	}
	if err := errors.Join(listen(api.Handler(), "admin"), listen(g, "gateway")); err != nil {
		return err
	}
	return kept.Run(ctx)
}

func hello() entity.Config {
	return entity.Config{
		Routes: []entity.Route{{Name: "hello", Paths: []string{"/hello"}}},
		Plugins: []entity.Plugin{{Name: "request-termination", Route: &entity.Ref{Name: "hello"},
			Config: json.RawMessage(`{"status_code":200,"message":"hello"}`)}},
		Upstreams: []entity.Upstream{{Name: "pool", Healthchecks: &entity.Healthchecks{}}},
		Targets:   []entity.Target{{Target: "192.0.2.1:80", Upstream: &entity.Ref{Name: "pool"}}},
	}
}
