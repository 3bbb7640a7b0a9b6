package kafka

import (
	"context"
	"net"
	"sync"
	"time"
)

// network makes the connections of one client and can end them all, so that
// whatever waits for them inside the client comes to an end as well.
type network struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	timeout time.Duration
	ctx     context.Context // ends with abort
	cancel  context.CancelFunc

	mu    sync.Mutex
	conns map[*connection]struct{}
}

func newNetwork(o *Options) *network {
	n := &network{dial: o.Dial, timeout: o.ConnectTimeout, conns: map[*connection]struct{}{}}
	if n.dial == nil {
		n.dial = (&net.Dialer{}).DialContext
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Dial implements the dialer of the client's configuration.
func (n *network) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout)
	defer cancel()
	conn, err := n.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		_ = conn.Close()
		return nil, n.ctx.Err()
	}
	n.conns[c] = struct{}{}
	return c, nil
}

// abort ends every connection and refuses new ones from now on.
func (n *network) abort() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancel()
	n.hangUp()
}

// reset ends every connection; the client makes new ones.
func (n *network) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangUp()
}

func (n *network) hangUp() {
	for c := range n.conns {
		_ = c.Conn.Close()
	}
	clear(n.conns)
}

// backoff is the client's pause between attempts. There is none when no attempt
// can succeed any more: the library pauses for each message that it gives up.
func (n *network) backoff(int, int) time.Duration {
	if n.ctx.Err() != nil {
		return 0
	}
	return 100 * time.Millisecond
}

// soon is backoff for transactions, which begins with a short pause: the
// cluster refuses the next one while it still writes the marks of the last, and
// that takes it a few milliseconds.
func (n *network) soon(retries, most int) time.Duration {
	return min(n.backoff(retries, most), time.Millisecond<<(1+min(retries, 10)))
}

// connection is a net.Conn that its network forgets when it is closed.
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
