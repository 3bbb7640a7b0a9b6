package mqtttest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy passes TCP connections on to a broker, and can be cut like a cable.
type Proxy struct {
	Address
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

// NewProxy starts a proxy in front of the broker at the address.
func NewProxy(tb testing.TB, to Address) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen for the proxy: %v", err)
	}
	p := &Proxy{
		Address:  newAddress(listener),
		target:   to.String(),
		listener: listener,
		conns:    map[net.Conn]struct{}{},
	}
	p.work.Go(p.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
		p.work.Wait()
	})
	return p
}

// Cut ends every connection at once and hangs up on new ones until Restore.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.drop()
}

// Restore ends what Cut began.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

// Interrupt ends every connection at once; new ones are passed on.
func (p *Proxy) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

func (p *Proxy) drop() {
	for conn := range p.conns {
		_ = conn.Close()
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.pass(conn) })
	}
}

// pass copies in both directions until either side ends.
func (p *Proxy) pass(client net.Conn) {
	defer client.Close()
	if !p.keep(client) {
		return
	}
	broker, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer broker.Close()
	if !p.keep(broker) {
		return
	}
	splice(client, broker)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, broker)
}

// splice copies in both directions until either side ends, and closes both.
func splice(client, broker net.Conn) {
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, broker}, {broker, client}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	both.Wait()
}

// keep remembers a connection for Cut, unless the cable is cut.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.cut {
		p.conns[conn] = struct{}{}
	}
	return !p.cut
}
