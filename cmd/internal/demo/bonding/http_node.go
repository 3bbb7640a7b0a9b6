package bonding

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
)

// runningNode is an instance that runs, with its REST interface on loopback.
type runningNode struct {
	url   string
	close func() error
}

// serve runs an instance until the runningNode is closed.
func serve(ctx context.Context, i pair.Instance, listener net.Listener) *runningNode {
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: i.Handler, ReadHeaderTimeout: patience,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	var (
		tasks       sync.WaitGroup
		ran, served error
	)
	tasks.Go(func() { ran = i.Node.Run(ctx) })
	tasks.Go(func() { served = server.Serve(listener) })
	a := &runningNode{url: "http://" + reachable(listener)}
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
	return a
}

// reachable returns where this machine reaches a listener: one of all addresses is reached at
// the loopback.
func reachable(listener net.Listener) string {
	at, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return listener.Addr().String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))
}
