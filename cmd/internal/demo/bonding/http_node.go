package bonding

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/iotenablers/enablers/multilink/node"
)

// runningNode is an instance that runs, with its REST interface on loopback.
type runningNode struct {
	url   string
	close func() error
}

// serve runs an instance until the runningNode is closed.
func serve(ctx context.Context, n *node.Node) (*runningNode, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: n.Handler(), ReadHeaderTimeout: patience,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	var (
		tasks       sync.WaitGroup
		ran, served error
	)
	tasks.Go(func() { ran = n.Run(ctx) })
	tasks.Go(func() { served = server.Serve(listener) })
	a := &runningNode{url: "http://" + listener.Addr().String()}
	a.close = func() error {
		cancel()
		closed := server.Close()
		tasks.Wait()
		if errors.Is(served, http.ErrServerClosed) {
			served = nil
		}
		if errors.Is(ran, context.Canceled) {
			ran = nil
		}
		return errors.Join(ran, served, closed)
	}
	return a, nil
}
