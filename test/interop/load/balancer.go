package load

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Balancer is the one address of several servers: each connection goes to the next server that
// accepts it.
type Balancer struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	over    bool
	servers []string // HOST:PORT of each, empty for one that is not ready
	turn    int
	open    map[net.Conn]bool
}

// NewBalancer starts a balancer in front of a number of servers, none of which is ready. It
// ends with the test.
func NewBalancer(t testing.TB, servers int) *Balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for %d servers: %v", servers, err)
	}
	b := &Balancer{listener: listener, servers: make([]string, servers), open: map[net.Conn]bool{}}
	b.work.Go(b.accept)
	t.Cleanup(b.close)
	return b
}

// Address returns HOST:PORT of the balancer.
func (b *Balancer) Address() string { return b.listener.Addr().String() }

// Set says where a server is; an empty address takes it out.
func (b *Balancer) Set(server int, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[server] = address
}

func (b *Balancer) close() {
	_ = b.listener.Close()
	b.mu.Lock()
	b.over = true
	for conn := range b.open {
		_ = conn.Close()
	}
	b.mu.Unlock()
	b.work.Wait()
}

func (b *Balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.work.Go(func() { b.forward(client) })
	}
}

// forward carries bytes in both directions until one side has ended.
func (b *Balancer) forward(client net.Conn) {
	if !b.keep(client) {
		return
	}
	defer b.drop(client)
	server := b.dial()
	if server == nil || !b.keep(server) {
		return
	}
	defer b.drop(server)
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // how it ends, both sides see
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
	_ = server.Close()
	back.Wait()
}

// dial connects to the next server that accepts, nil if none does.
func (b *Balancer) dial() net.Conn {
	b.mu.Lock()
	b.turn++
	var order []string
	for i := range b.servers {
		order = append(order, b.servers[(b.turn+i)%len(b.servers)])
	}
	b.mu.Unlock()
	for _, address := range order {
		if address == "" {
			continue
		}
		if conn, err := net.DialTimeout("tcp", address, Patience); err == nil {
			return conn
		}
	}
	return nil
}

func (b *Balancer) keep(conn net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		_ = conn.Close()
		return false
	}
	b.open[conn] = true
	return true
}

func (b *Balancer) drop(conn net.Conn) {
	_ = conn.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, conn)
}
