package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// errLost is the cause of a connection that ended without saying why.
var errLost = errors.New("the connection was lost")

// RefusedError is returned by a Version's Connect when the broker answered and
// did not accept the connection.
type RefusedError struct {
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string { return "the broker refused the connection: " + e.Reason }

// traffic is what a subscription and a publisher make of a connection.
type traffic interface {
	// attach announces a new connection before anything arrives on it.
	attach(c *Connection)
	// received takes a message that arrived. It may wait until c.lost.
	received(c *Connection, m *inbound)
	// confirmed takes the answer to a message that was sent.
	confirmed(c *Connection, id uint16, refused error)
	// ready finishes the set-up when the connection is established.
	ready(ctx context.Context, c *Connection) error
	// serve sends what there is to send until the connection is lost or no
	// longer needed.
	serve(c *Connection)
	// unreachable is called when there is no broker to connect to.
	unreachable()
}

// Connection is one MQTT connection from its CONNECT to its end. The state
// that outlives it belongs to the subscription and the publisher. Its methods
// may be called from any goroutine.
type Connection struct {
	// Wire is the network connection, Alive its keep-alive.
	Wire  *Wire
	Alive *Keepalive

	traffic    traffic
	protocol   Protocol
	properties bool // whether PUBLISH packets have them
	terms      Terms
	topic      string // of the last message that arrived

	lost       chan struct{}  // closed when the connection is gone
	full       chan struct{}  // a note, capacity 1: what arrives has to wait for room
	subscribed chan error     // the outcome of the SUBSCRIBE, capacity 1
	requesting sync.WaitGroup // calls that wait for that; end with the connection

	mu     sync.Mutex
	isLost bool
	end    ending
}

// ending is how a connection came to its end.
type ending struct {
	cause     error
	takenOver bool // another connection has the session now
	blaming   bool // the broker may have ended it because of what we sent
}

// Goodbye is what a broker said when it ended a connection.
type Goodbye struct {
	// Reason is why, in words.
	Reason string
	// TakenOver says that another connection has the session now.
	TakenOver bool
	// Blaming says that what we sent may be the reason.
	Blaming bool
}

// newConnection wraps a network connection. The version sees to the rest.
func newConnection(w *Wire, t traffic, v Version) *Connection {
	return &Connection{
		Wire:       w,
		properties: v.HasProperties(),
		Alive:      newKeepalive(w),
		traffic:    t,
		lost:       make(chan struct{}),
		full:       make(chan struct{}, 1),
		subscribed: make(chan error, 1),
	}
}

// Terms returns what Accept was called with.
func (c *Connection) Terms() Terms { return c.terms }

// Done returns a channel that is closed when the connection is lost.
func (c *Connection) Done() <-chan struct{} { return c.lost }

// Accept takes what the broker said in its CONNACK packet. It is called before
// the next packet is read.
func (c *Connection) Accept(t Terms) {
	t.MaxPacketSize = min(t.MaxPacketSize, maxPacketSize)
	c.terms = t
	c.traffic.attach(c)
	c.Wire.take = c.take
}

// Received takes a message that arrived. It waits while there is no room.
func (c *Connection) Received(topic string, payload []byte, id uint16, qos byte) {
	if qos > 1 || qos == 1 && id == 0 {
		c.Breach("a PUBLISH with QoS %d and packet identifier %d", qos, id)
		return
	}
	m := &inbound{id: id, qos: qos}
	m.message.Topic, m.message.Payload = topic, payload
	c.traffic.received(c, m)
}

// Confirmed takes the answer to the message that was sent with the packet
// identifier. refused is nil when the broker has taken it.
func (c *Connection) Confirmed(id uint16, refused error) { c.traffic.confirmed(c, id, refused) }

// Breach gives up a connection whose broker does not keep to the protocol.
func (c *Connection) Breach(format string, args ...any) {
	c.Wire.Fail(fmt.Errorf("the broker sent "+format, args...))
	_ = c.Wire.Close() // the reader fails, and the connection is lost
}

// Lose marks the connection as gone. goodbye is nil when the broker said
// nothing.
func (c *Connection) Lose(goodbye *Goodbye) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost {
		return
	}
	c.isLost = true
	c.end.cause = errLost
	if err := c.Wire.failure(); err != nil {
		c.end.cause = err
	}
	if hungUp(c.end.cause) {
		c.end.blaming = true
	}
	if errors.Is(c.end.cause, io.EOF) {
		c.end.cause = errors.New("the broker closed the connection")
	}
	if goodbye != nil {
		c.end = ending{fmt.Errorf("the broker disconnected: %s", goodbye.Reason), goodbye.TakenOver, goodbye.Blaming}
	}
	close(c.lost)
}

// hungUp reports whether the other side closed the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// HungUp reports whether a Connect failed because the other side closed the
// connection without an answer.
func HungUp(err error) bool {
	var silent *silentError
	return errors.As(err, &silent)
}

// silentError is a broker that closed the connection upon our CONNECT.
type silentError struct{ name string }

func (e *silentError) Error() string {
	return fmt.Sprintf("the broker closed the connection without an answer; it may not speak %s, or expect TLS", e.name)
}

// Explain prefers the reason for which the connection was lost to an error
// that only says that it was.
func (c *Connection) Explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return c.end.cause
	}
	return err
}

// ended returns how a lost connection came to its end.
func (c *Connection) ended() ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// cut closes the connection without a word and waits until its goroutines are
// gone.
func (c *Connection) cut() {
	_ = c.Wire.Close()
	c.leave(false)
}

// leave says goodbye, closes the connection, and waits until its goroutines
// are gone.
func (c *Connection) leave(forget bool) {
	c.protocol.Leave(forget)
	c.requesting.Wait()
}
