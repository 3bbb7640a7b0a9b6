package flower

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The hello of an HTTP/2 client (RFC 9113, section 3.4): a fixed text, and a
// SETTINGS frame, whose header has 9 bytes, the length in the first 3.
const (
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeader = 9
	// mostHello is what is kept of a hello; those of clients have 100 bytes.
	mostHello = 512
)

// strangerPatience is how long a client that does not begin with the hello may
// take for a request: it is none that a server waits for.
const strangerPatience = 10 * time.Second

// greeters is how many hellos are worked on at a time.
const greeters = 64

// doorway is a listener for HTTP/2 in the clear. package http closes a connection
// whose SETTINGS do not come within two seconds of the text before them, and
// counts the time in which it is too busy to look. Flower clients do not come
// back, so when thousands join at once some would be lost. Connections from a
// doorway are therefore silent until the whole hello is there, and then few
// begin at a time. A client that says nothing holds up nobody.
type doorway struct {
	net.Listener
	turns chan struct{} // holds a token for each hello that is worked on
}

func newDoorway(listener net.Listener) *doorway {
	return &doorway{listener, make(chan struct{}, greeters)}
}

// Accept implements net.Listener.
func (d *doorway) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &newcomer{Conn: conn, turns: d.turns, gone: make(chan struct{})}, nil
}

// newcomer is a connection of a doorway. It is read by one goroutine at a time.
type newcomer struct {
	net.Conn
	turns chan struct{}
	gone  chan struct{} // closed with the connection
	once  sync.Once

	heard  bool
	err    error  // of the hello, to be returned after it
	unread []byte // what was not handed out of the hello

	stranger atomic.Bool // does not begin with the hello

	mu   sync.Mutex
	busy bool // holds a token
}

// Read implements net.Conn.
func (c *newcomer) Read(p []byte) (int, error) {
	if !c.heard {
		c.heard = true
		c.unread, c.err = c.hear()
		if text := c.unread[:min(len(c.unread), len(preface))]; string(text) != preface[:len(text)] {
			c.stranger.Store(true)
			c.SetReadDeadline(time.Time{})
		}
		c.take()
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
	c.yield() // who reads on has taken in the hello
	return c.Conn.Read(p)
}

// hear waits for a whole hello, or for what is none.
func (c *newcomer) hear() ([]byte, error) {
	said := make([]byte, 0, mostHello)
	for wanting(said) {
		n, err := c.Conn.Read(said[len(said):cap(said)])
		said = said[:len(said)+n]
		if err != nil {
			return said, err
		}
	}
	return said, nil
}

// wanting reports whether more belongs to a hello.
func wanting(said []byte) bool {
	text := said[:min(len(said), len(preface))]
	switch {
	case !bytes.HasPrefix([]byte(preface), text), len(said) == cap(said):
		return false
	case len(said) < len(preface)+frameHeader:
		return true
	}
	length := binary.BigEndian.Uint32(append([]byte{0}, said[len(preface):len(preface)+3]...))
	return len(said) < len(preface)+frameHeader+int(length)
}

// take waits for a turn, or for the end of the connection.
func (c *newcomer) take() {
	select {
	case c.turns <- struct{}{}:
	case <-c.gone:
		return
	}
	c.mu.Lock()
	c.busy = true
	c.mu.Unlock()
	select {
	case <-c.gone: // it may have come before the lock
		c.yield()
	default:
	}
}

// yield ends the turn, once.
func (c *newcomer) yield() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		c.busy = false
		<-c.turns
	}
}

// SetReadDeadline implements net.Conn. It bounds the time of a stranger.
func (c *newcomer) SetReadDeadline(t time.Time) error {
	if last := time.Now().Add(strangerPatience); c.stranger.Load() && (t.IsZero() || t.After(last)) {
		t = last
	}
	return c.Conn.SetReadDeadline(t)
}

// Close implements net.Conn.
func (c *newcomer) Close() error {
	c.once.Do(func() { close(c.gone) })
	c.yield()
	return c.Conn.Close()
}
