package server

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/clientaddr"
)

// most is the largest default of the flag max-connections.
const most = 10_000

const connectionsUsage = "the largest `number` of connections to this server at a time; a client address may have half of " +
	"them. For one more, the connection is closed that has been silent longest. 0 means 10000, or less where the limit " +
	"of open files (ulimit -n) is below 20064: half of what it leaves besides 64"

// Connections bounds the connections to the listeners of a process, so that clients that
// connect and say nothing keep no others out. When a connection exceeds the bound, another
// one is closed for it: the oldest of those whose first request is not complete, or else the
// one that has waited longest for a next request. A connection with a request under way is
// never closed; if all have one, the new connection is refused. The
// same holds for the connections of one client address, of which there may be half as many.
// Addresses of IPv6 count by their first 64 bits.
//
// The HTTP servers of this package say how far a connection is. Others call [ConnState],
// or accept from a listener of [Connections.ListenLong]. At most one warning in 10 seconds has the counts.
//
// Listeners of a nil *Connections are not bounded.
type Connections struct {
	setting int // the value of the flag; 0 means the default
	max     int // the bound
	log     *slog.Logger

	mu      sync.Mutex
	clients map[netip.Addr]*connectionQueue
	all     connectionQueue // of all clients

	closed, refused int // since the last warning
	logged          time.Time
}

// connectionQueue is the connections of some clients that may be closed.
type connectionQueue struct {
	count  int                    // of connections, those with a request included
	silent [waiting + 1]list.List // by stage, the one that is silent longest first
}

// stage is how far a connection is.
type stage int

const (
	connected stage = iota // no request is complete
	waiting                // for a next request
	requesting
)

// Connections declares the flag max-connections and returns the bound, which is for the
// listeners of the command. [Flags.Serve] gives it its logger.
func (f *Flags) Connections() *Connections {
	f.connections = &Connections{max: defaultConnections(), log: slog.New(slog.DiscardHandler),
		clients: map[netip.Addr]*connectionQueue{}}
	f.Var((*connectionLimit)(f.connections), "max-connections", connectionsUsage)
	return f.connections
}

// connectionLimit is the value of the flag.
type connectionLimit Connections

// String implements flag.Value.
func (l *connectionLimit) String() string { return strconv.Itoa(l.setting) }

// Set implements flag.Value.
func (l *connectionLimit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n == 1 {
		return fmt.Errorf("expected 0 or a number from 2 on, got %q", text)
	}
	l.setting, l.max = n, n
	if n == 0 {
		l.max = defaultConnections()
	}
	return nil
}

// defaultConnections returns the default bound, for the limit of open files as it is now.
func defaultConnections() int {
	const reserve, least = 64, 16 // of files that are not connections; with connections to services, each takes two
	return max(least, min(most, (openFiles()-reserve)/2))
}

// Listen is the function [Listen] for a listener within the bound.
func (c *Connections) Listen(flagName, address string) (net.Listener, error) {
	return c.listen(flagName, address, connected)
}

// ListenLong is Listen for a protocol whose connections have no requests, such as MQTT.
// From the start each one counts as one with a request under way, so it is never closed
// for another one.
func (c *Connections) ListenLong(flagName, address string) (net.Listener, error) {
	return c.listen(flagName, address, requesting)
}

func (c *Connections) listen(flagName, address string, first stage) (net.Listener, error) {
	listener, err := Listen(flagName, address)
	if c == nil || err != nil {
		return listener, err
	}
	return &boundedListener{Listener: listener, bound: c, first: first}, nil
}

// boundedListener accepts connections within a bound.
type boundedListener struct {
	net.Listener
	bound *Connections
	first stage // of each connection
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn := l.bound.admit(accepted, l.first); conn != nil {
			return conn, nil
		}
		_ = accepted.Close() // nothing was said
	}
}

// boundedConn is a connection within a bound.
type boundedConn struct {
	net.Conn
	bound  *Connections
	client netip.Addr

	// Under the lock of the bound.
	stage  stage
	gone   bool
	places [2]*list.Element // in the queue of all and in that of the client; nil while requesting
}

// ConnState is the hook of an [http.Server] for listeners of [Connections.Listen]. It
// ignores other connections.
func ConnState(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, ok := conn.(*boundedConn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive, http.StateHijacked:
		c.enter(requesting)
	case http.StateIdle:
		c.enter(waiting)
	}
}

// enter moves the connection to a stage.
func (c *boundedConn) enter(next stage) {
	c.bound.mu.Lock()
	defer c.bound.mu.Unlock()
	if !c.gone && c.stage != next {
		c.leaveQueuesLocked()
		c.stage = next
		c.joinQueuesLocked()
	}
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.bound.mu.Lock()
	c.bound.removeLocked(c)
	c.bound.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the answers, so that a client reads the last one to its end: package http does so
// before it closes a connection whose request it has not read, which resets it.
func (c *boundedConn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends the sending side of a connection, where that can be.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// ReadFrom implements io.ReaderFrom: the kernel copies files to the connection.
func (c *boundedConn) ReadFrom(from io.Reader) (int64, error) { return io.Copy(c.Conn, from) }

// admit returns a connection within the bound, or nil beyond the bound.
func (b *Connections) admit(accepted net.Conn, first stage) net.Conn {
	c := &boundedConn{Conn: accepted, bound: b, client: clientAddress(accepted.RemoteAddr()), stage: first}
	victim, ok := b.enter(c)
	if victim != nil {
		_ = victim.Conn.Close() // its server gets the error
	}
	if !ok {
		return nil
	}
	return c
}

// enter counts the connection. It returns the one that has to be closed, if any, and
// whether there is room.
func (b *Connections) enter(c *boundedConn) (victim *boundedConn, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.clients[c.client]
	if of == nil {
		of = &connectionQueue{}
		b.clients[c.client] = of
	}
	full := b.all.count >= b.max
	own := of.count >= max(1, b.max/2)
	if full || own {
		from := &b.all
		if own {
			from = of
		}
		if victim = from.longestSilent(); victim == nil {
			b.warnLocked(&b.refused)
			if of.count == 0 {
				delete(b.clients, c.client)
			}
			return nil, false
		}
		b.removeLocked(victim)
		b.warnLocked(&b.closed)
		b.clients[c.client] = of // the victim may have been its last
	}
	b.all.count++
	of.count++
	c.joinQueuesLocked()
	return victim, true
}

// removeLocked forgets a connection, once.
func (b *Connections) removeLocked(c *boundedConn) {
	if c.gone {
		return
	}
	c.leaveQueuesLocked()
	c.gone = true
	b.all.count--
	of := b.clients[c.client]
	if of.count--; of.count == 0 {
		delete(b.clients, c.client)
	}
}

// joinQueuesLocked puts the connection behind all that are silent for longer.
func (c *boundedConn) joinQueuesLocked() {
	if c.stage == requesting {
		return
	}
	for i, queue := range c.queues() {
		c.places[i] = queue.silent[c.stage].PushBack(c)
	}
}

func (c *boundedConn) leaveQueuesLocked() {
	if c.stage == requesting {
		return
	}
	for i, queue := range c.queues() {
		queue.silent[c.stage].Remove(c.places[i])
	}
}

func (c *boundedConn) queues() [2]*connectionQueue {
	return [2]*connectionQueue{&c.bound.all, c.bound.clients[c.client]}
}

// longestSilent returns the connection to close, nil if all have a request.
func (q *connectionQueue) longestSilent() *boundedConn {
	for i := range q.silent {
		if first := q.silent[i].Front(); first != nil {
			return first.Value.(*boundedConn)
		}
	}
	return nil
}

// warnLocked counts, and logs the counts if the last line is old enough.
func (b *Connections) warnLocked(count *int) {
	*count++
	now := time.Now()
	if !b.logged.IsZero() && now.Sub(b.logged) < acceptInterval {
		return
	}
	b.log.Warn("too many connections; the bound is that of -max-connections, and half of it for each client address",
		"open", b.all.count, "bound", b.max, "closed_silent", b.closed, "refused", b.refused)
	b.logged, b.closed, b.refused = now, 0, 0
}

// clientAddress returns the address that a client counts by. All clients without one count
// as one.
func clientAddress(address net.Addr) netip.Addr {
	at, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return clientaddr.Of(at.AddrPort().Addr())
}
