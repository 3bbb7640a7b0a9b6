package kafka

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// network opens the connections of one client and can close them all, which also ends the
// calls of the client that wait for them.
type network struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config // nil for connections in the clear
	timeout time.Duration
	ctx     context.Context // ends with abort
	cancel  context.CancelFunc

	mu    sync.Mutex
	conns map[*connection]struct{}
}

// newNetwork returns the network of a client of the endpoint.
func (e *endpoint) newNetwork() *network {
	o := &e.broker.opts
	n := &network{dial: o.Hosts.Over(o.Dial), tls: e.tlsConfig(), timeout: o.ConnectTimeout, conns: map[*connection]struct{}{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Dial implements the dialer of the client's configuration. It also makes the
// TLS connection, which the client would otherwise do itself, because the bounds
// of responses are those of what TLS carries.
func (n *network) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout)
	defer cancel()
	conn, err := n.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, network: n}
	if err := n.add(c); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if n.tls == nil {
		return newFrames(c, address), nil
	}
	secured, err := n.secure(ctx, c, address)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return newFrames(secured, address), nil
}

// add registers a connection, which abort and reset close.
func (n *network) add(c *connection) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() == nil {
		n.conns[c] = struct{}{}
	}
	return n.ctx.Err()
}

// secure opens a TLS connection to the host of an address, unless the
// configuration names another server.
func (n *network) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	config := n.tls
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config = config.Clone()
		config.ServerName = host
	}
	secured := tls.Client(conn, config)
	return secured, secured.HandshakeContext(ctx)
}

// abort closes every connection and refuses new ones.
func (n *network) abort() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancel()
	n.hangUpLocked()
}

// reset closes every connection. The client opens new ones.
func (n *network) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangUpLocked()
}

func (n *network) hangUpLocked() {
	for c := range n.conns {
		_ = c.Conn.Close()
	}
	clear(n.conns)
}

// backoff returns the client's pause between attempts. It is zero after abort, because the
// library pauses for each message that it drops.
func (n *network) backoff(int, int) time.Duration {
	if n.ctx.Err() != nil {
		return 0
	}
	return 100 * time.Millisecond
}

// soon is backoff for transactions, which begins with a short pause: the cluster refuses a
// transaction while it writes the markers of the last one, for a few milliseconds.
func (n *network) soon(retries, most int) time.Duration {
	return min(n.backoff(retries, most), time.Millisecond<<(1+min(retries, 10)))
}

// connection is a net.Conn that Close removes from its network.
type connection struct {
	net.Conn
	network *network
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}
