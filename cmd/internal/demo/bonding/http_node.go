package bonding

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/internal/server"
)

// runningNode is an instance that runs, with its REST interface on loopback.
type runningNode struct {
	url   string
	close func() error
}

// serve runs an instance until the runningNode is closed.
func serve(ctx context.Context, i pair.Instance, listener net.Listener) *runningNode {
	ctx, cancel := context.WithCancel(ctx)
	web := &http.Server{Handler: i.Handler, ReadHeaderTimeout: patience,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	var (
		tasks       sync.WaitGroup
		ran, served error
	)
	tasks.Go(func() { ran = i.Node.Run(ctx) })
	tasks.Go(func() { served = web.Serve(listener) })
	a := &runningNode{url: "http://" + server.Reachable(listener.Addr().String())}
	a.close = func() error {
		cancel()
		closed := web.Close()
		tasks.Wait()
		if errors.Is(served, http.ErrServerClosed) {
			served = nil
		}
		if errors.Is(ran, context.Canceled) {
			ran = nil
		}
		return errors.Join(ran, served, closed)
	}
	return a
}
