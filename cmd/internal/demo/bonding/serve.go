package bonding

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/iotenablers/enablers/multilink/node"
)

// served is an instance that runs, with its REST interface on loopback.
type served struct {
	url   string
	close func() error
}

// serve runs an instance until it is closed.
func serve(ctx context.Context, n *node.Node) (*served, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: n.Handler(), ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	var (
		tasks       sync.WaitGroup
		ran, failed error
	)
	tasks.Go(func() { ran = n.Run(ctx) })
	tasks.Go(func() { failed = server.Serve(listener) })
	a := &served{url: "http://" + listener.Addr().String()}
	a.close = func() error {
		cancel()
		closed := server.Close()
		tasks.Wait()
		if errors.Is(failed, http.ErrServerClosed) {
			failed = nil
		}
		if errors.Is(ran, context.Canceled) {
			ran = nil
		}
		return errors.Join(ran, failed, closed)
	}
	return a, nil
}
