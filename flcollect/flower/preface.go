package flower

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The connection preface of an HTTP/2 client (RFC 9113, section 3.4) is a fixed
// text and a SETTINGS frame, whose header has 9 bytes with the length in the
// first 3.
const (
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeader = 9
	// maxPreface is the most bytes of a preface that are buffered. Prefaces of
	// Flower clients have about 100 bytes.
	maxPreface = 512
)

// foreignTimeout is how long a program that does not begin with the preface may
// take for its request. It is not a Flower client.
const foreignTimeout = 10 * time.Second

// maxPrefaces is how many prefaces are processed at a time.
const maxPrefaces = 64

// prefaceListener is a listener for unencrypted HTTP/2. Package http closes a connection
// whose SETTINGS frame does not arrive within two seconds after the text of the preface,
// and its own scheduling delay counts. Flower clients do not reconnect, so some would be
// lost when thousands join at once. A connection of a prefaceListener therefore returns
// no byte before its whole preface has arrived, and few prefaces are processed at a time.
// A silent client does not block others.
type prefaceListener struct {
	net.Listener
	turns chan struct{} // holds a token for each preface that is processed
}

func newPrefaceListener(listener net.Listener) *prefaceListener {
	return &prefaceListener{listener, make(chan struct{}, maxPrefaces)}
}

// Accept implements net.Listener.
func (d *prefaceListener) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &prefaceConn{Conn: conn, turns: d.turns, closed: make(chan struct{})}, nil
}

// prefaceConn is a connection of a prefaceListener. One goroutine at a time reads it.
type prefaceConn struct {
	net.Conn
	turns  chan struct{}
	closed chan struct{} // closed with the connection
	once   sync.Once

	started bool
	err     error  // of reading the preface, to be returned after it
	unread  []byte // bytes of the preface that Read has not returned yet

	foreign atomic.Bool // the client does not begin with the preface

	mu      sync.Mutex
	hasTurn bool // holds a token
}

// Read implements net.Conn.
func (c *prefaceConn) Read(p []byte) (int, error) {
	if !c.started {
		c.started = true
		c.unread, c.err = c.readPreface()
		if text := c.unread[:min(len(c.unread), len(preface))]; string(text) != preface[:len(text)] {
			c.foreign.Store(true)
			c.SetReadDeadline(time.Time{})
		}
		c.acquireTurn()
	}
	switch {
	case len(c.unread) > 0:
		n := copy(p, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil // the connection may last for days
		}
		return n, nil
	case c.err != nil:
		return 0, c.err
	}
	c.releaseTurn() // a second read means that the preface is processed
	return c.Conn.Read(p)
}

// readPreface reads until the preface is whole or the bytes are no preface.
func (c *prefaceConn) readPreface() ([]byte, error) {
	data := make([]byte, 0, maxPreface)
	for incomplete(data) {
		n, err := c.Conn.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			return data, err
		}
	}
	return data, nil
}

// incomplete reports whether data is the beginning of a preface.
func incomplete(data []byte) bool {
	text := data[:min(len(data), len(preface))]
	switch {
	case !bytes.HasPrefix([]byte(preface), text), len(data) == cap(data):
		return false
	case len(data) < len(preface)+frameHeader:
		return true
	}
	length := binary.BigEndian.Uint32(append([]byte{0}, data[len(preface):len(preface)+3]...))
	return len(data) < len(preface)+frameHeader+int(length)
}

// acquireTurn waits for a turn or for the end of the connection.
func (c *prefaceConn) acquireTurn() {
	select {
	case c.turns <- struct{}{}:
	case <-c.closed:
		return
	}
	c.mu.Lock()
	c.hasTurn = true
	c.mu.Unlock()
	select {
	case <-c.closed: // closed before hasTurn was set
		c.releaseTurn()
	default:
	}
}

// releaseTurn ends the turn, once.
func (c *prefaceConn) releaseTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasTurn {
		c.hasTurn = false
		<-c.turns
	}
}

// SetReadDeadline implements net.Conn. It bounds the time of a connection that
// does not begin with the preface.
func (c *prefaceConn) SetReadDeadline(t time.Time) error {
	if last := time.Now().Add(foreignTimeout); c.foreign.Load() && (t.IsZero() || t.After(last)) {
		t = last
	}
	return c.Conn.SetReadDeadline(t)
}

// CloseWrite ends the answers, so that a program whose request is refused before it is read sees the
// refusal and its end, and no reset.
func (c *prefaceConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements net.Conn.
func (c *prefaceConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.releaseTurn()
	return c.Conn.Close()
}
