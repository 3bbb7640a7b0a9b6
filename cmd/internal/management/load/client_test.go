package publish_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// pace is the least time from one call to the next of a caller. Without it calls take
// all of the machine, and what is published gets none.
const pace = 4 * time.Millisecond

// caller calls the APIs that stay, one call after another on connections that are kept, and
// stops at the first that is not as it should be. Every other call is a POST, which
// net/http does not repeat on its own when a connection breaks.
type caller struct {
	number  int
	manager *apiManager

	calls, forwarded atomic.Int64 // answers that were right; those of them that came from the service behind
	lost             atomic.Int64 // connections that the gateway has closed
}

// watchedConn counts if it ends before it is closed.
type watchedConn struct {
	net.Conn
	closed atomic.Bool
	lost   *atomic.Int64
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !c.closed.Load() {
		c.lost.Add(1)
	}
	return n, err
}

func (c *watchedConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

func (c *caller) run(ctx context.Context) error {
	dialer := &net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: connection, lost: &c.lost}, nil
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	next := time.NewTicker(pace)
	defer next.Stop()
	for i := 0; ; i++ {
		if err := c.call(client, i); err != nil {
			return fmt.Errorf("caller %d, call %d: %w", c.number, i, err)
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// call makes the i-th call: to a plain route, one with a parameter, a secured one with
// a token, the same without, and a path without a route.
func (c *caller) call(client *http.Client, i int) error {
	base := fmt.Sprintf("/steady%d", (i+c.number)%steady)
	method, sent := http.MethodGet, ""
	if i%2 == 1 {
		method, sent = http.MethodPost, fmt.Sprintf("body %d of %d", i, c.number)
	}
	path, token, want := base+"/plain", "", http.StatusOK
	switch i % 5 {
	case 1:
		path = fmt.Sprintf("%s/items/%d-%d", base, c.number, i)
	case 2:
		path, token = base+"/secured", *c.manager.token.Load()
	case 3:
		path, want = base+"/secured", http.StatusUnauthorized
	case 4:
		path, want = base+"/absent", http.StatusNotFound
	}
	status, body, err := send(client, method, c.manager.gateway+path, token, "text/plain", strings.NewReader(sent))
	if err != nil {
		return fmt.Errorf("%s %q: %w", method, path, err)
	}
	if expected := method + " " + path + " " + sent; status != want || (body == expected) != (want == http.StatusOK) {
		return fmt.Errorf("%s %q: expected %d: %d %q", method, path, want, status, body)
	}
	if want == http.StatusOK {
		c.forwarded.Add(1)
	}
	c.calls.Add(1)
	return nil
}
