// Command pages shows the pages of two rooms in a program of one's own: the channels of an
// annotator below /channels/, and a repository of models below /models/, with everything in
// memory. Their addresses are relative, so that they may be mounted anywhere.
//
//	go run ./examples/pages [-listen 127.0.0.1:8080]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/modelrepo"
	modelpage "github.com/iotenablers/enablers/modelrepo/page"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	address := flag.String("listen", "127.0.0.1:8080", "`HOST:PORT` of the pages")
	flag.Parse()
	if err := run(ctx, *address, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, out io.Writer) error {
	channels, err := manager.New(manager.Config{
		Environment: annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(annotate.NewMemoryBroker(nil))}},
	})
	if err != nil {
		return err
	}
	models, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	// Authorize in the options says who may do what. Without it everyone may do everything, so
	// that the listener has to be one of this machine.
	mux.Handle("/channels/", http.StripPrefix("/channels", page.NewHandler(channels, nil)))
	mux.Handle("/models/", http.StripPrefix("/models", modelpage.NewHandler(models, nil)))

	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(out, "listening on http://%[1]s: /channels/ and /models/\n", listener.Addr())

	ended := make(chan error, 2)
	go func() { ended <- channels.Run(ctx) }()
	go func() { ended <- models.Run(ctx) }()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(<-ended, <-ended)
}
