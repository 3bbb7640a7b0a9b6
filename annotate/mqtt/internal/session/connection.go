package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/iotenablers/enablers/annotate"
)

// errLost is the cause of a connection that ended without a reason.
var errLost = errors.New("the connection was lost")

// RefusedError is the error of a Version's Connect when the broker refused the connection.
type RefusedError struct {
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string { return "the broker refused the connection: " + e.Reason }

// traffic handles the events of a connection, for a subscription or a publisher.
type traffic interface {
	// attach announces a new connection before anything arrives on it.
	attach(c *Connection)
	// received handles a message that arrived. It may wait until c.lost.
	received(c *Connection, m *inbound)
	// confirmed handles the answer to a message that was sent.
	confirmed(c *Connection, id uint16, refused error)
	// ready finishes the set-up when the connection is established.
	ready(ctx context.Context, c *Connection) error
	// serve sends packets until the connection is lost or no longer needed.
	serve(c *Connection)
	// unreachable is called when there is no broker to connect to.
	unreachable()
}

// Connection is one MQTT connection from its CONNECT packet to its end. The state that
// outlives it is in the subscription or the publisher. It is safe for concurrent use.
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
	full       chan struct{}  // capacity 1: a message waits for room in the queue
	subscribed chan error     // the outcome of the SUBSCRIBE, capacity 1
	requesting sync.WaitGroup // calls that wait for that; end with the connection

	mu     sync.Mutex
	isLost bool
	end    ending
}

// ending describes the end of a connection.
type ending struct {
	cause     error
	takenOver bool // another connection has the session now
	blaming   bool // the broker may have closed it because of a message
}

// Goodbye describes the DISCONNECT packet of a broker.
type Goodbye struct {
	// Reason is the reason as text.
	Reason string
	// TakenOver means that another connection has the session now.
	TakenOver bool
	// Blaming means that a message may be the reason.
	Blaming bool
}

// newConnection wraps a network connection.
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

// Accept sets the terms of the broker's CONNACK packet. It is called before the next packet
// is read.
func (c *Connection) Accept(t Terms) {
	t.MaxPacketSize = min(t.MaxPacketSize, maxPacketSize)
	c.terms = t
	c.traffic.attach(c)
	c.Wire.take = c.take
}

// Received handles a message that arrived. It waits while the queue is full.
func (c *Connection) Received(topic string, payload []byte, id uint16, qos byte, trace annotate.Trace) {
	if qos > 1 || (qos == 1 && id == 0) {
		c.Breach("a PUBLISH with QoS %d and packet identifier %d", qos, id)
		return
	}
	m := &inbound{id: id, qos: qos}
	m.message.Topic = topic
	m.message.Payload = payload
	m.message.Trace = trace
	c.traffic.received(c, m)
}

// Confirmed handles the answer to the message with the packet identifier. refused is nil if
// the broker accepted the message.
func (c *Connection) Confirmed(id uint16, refused error) { c.traffic.confirmed(c, id, refused) }

// Breach closes a connection whose broker violates the protocol.
func (c *Connection) Breach(format string, args ...any) {
	c.Wire.Fail(fmt.Errorf("the broker sent "+format, args...))
	_ = c.Wire.Close() // the reader fails, and the connection is lost
}

// Lose marks the connection as lost. goodbye is nil if the broker sent no DISCONNECT packet.
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
		c.end = ending{cause: fmt.Errorf("the broker disconnected: %s", goodbye.Reason), takenOver: goodbye.TakenOver, blaming: goodbye.Blaming}
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

// silentError is the error of a connection that the broker closed after the CONNECT packet.
type silentError struct{ name string }

func (e *silentError) Error() string {
	return fmt.Sprintf("the broker closed the connection without an answer; it may not speak %s, or expect TLS", e.name)
}

// Explain returns the reason for which the connection was lost instead of an error that only
// says that it was lost.
func (c *Connection) Explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isLost && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return c.end.cause
	}
	return err
}

// ended returns the end of a lost connection.
func (c *Connection) ended() ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// cut closes the connection without a DISCONNECT packet and waits for its goroutines.
func (c *Connection) cut() {
	_ = c.Wire.Close()
	c.leave(false)
}

// leave sends a DISCONNECT packet, closes the connection, and waits for its goroutines.
func (c *Connection) leave(forget bool) {
	c.protocol.Leave(forget)
	c.requesting.Wait()
}
