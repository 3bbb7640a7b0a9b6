// Package h1 sends requests over HTTP/1.1 without TLS, at less cost than
// net/http: no goroutine for a connection, no copy of headers, no buffer that is
// not used again. It does what a gateway needs and no more: no redirects, no
// cookies, no proxies, no compression, no upgrade, no waiting for "100 Continue".
package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Transport keeps connections to services. It is safe for concurrent use.
type Transport struct {
	// Dial connects to a host and port.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// MaxIdle is the number of connections to one address that are kept, for IdleTimeout.
	MaxIdle     int
	IdleTimeout time.Duration
	// MaxHeader bounds the header of a response, in bytes.
	MaxHeader int
	// Read and Write bound the time between two reads, and between two writes.
	Read, Write time.Duration

	buffers sync.Pool // of *[]byte, for bodies of requests

	mu     sync.Mutex
	idle   map[string][]*conn // by address, the last used at the end
	reaper *time.Timer        // nil while nothing is idle
	closed bool
}

// Request is a request to a service.
type Request struct {
	// Address is the address of the service, as host and port.
	Address string
	// Method, Target and Host go into the first two lines.
	Method, Target, Host string
	// Header are the other fields. Those that are about the message's framing or the
	// connection are left out.
	Header map[string][]string
	// Body is the body of Length bytes, or -1 if that is unknown. Nil means none. It
	// may be read for a moment longer than the response is.
	Body   io.Reader
	Length int64
}

var (
	// ErrStale means that the service closed a connection before it has answered.
	ErrStale = errors.New("h1: connection closed before an answer")
	// ErrBodyUsed means that a request has failed after its body was begun, or while
	// it is still being read: no other attempt may read it. After any other error nothing of
	// the body was read, and nothing will be.
	ErrBodyUsed = errors.New("h1: body of the request is used")
	// ErrInvalidRequest means that a part of the request cannot be sent.
	ErrInvalidRequest = errors.New("h1: invalid request")
	// ErrInvalidResponse means that what came back is not a response of HTTP/1.
	ErrInvalidResponse = errors.New("h1: invalid response")

	errAbandoned = errors.New("h1: attempt is over")
)

// Do sends a request and returns the response when its header has come. The caller
// closes it. The end of the context ends the exchange, the response included.
//
// A request on a connection that was used before and turns out to be closed is
// sent again on a new one, if that does no harm.
func (t *Transport) Do(ctx context.Context, r *Request) (*Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	for {
		c, err := t.connect(ctx, r.Address)
		if err != nil {
			return nil, err
		}
		used := c.used
		response, err := c.exchange(ctx, r)
		if err == nil {
			return response, nil
		}
		if !used || !errors.Is(err, ErrStale) || !idempotent(r.Method) || errors.Is(err, ErrBodyUsed) || ctx.Err() != nil {
			return nil, err
		}
	}
}

func idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE":
		return true
	}
	return false
}

// connect takes an idle connection that still stands, or makes a new one.
func (t *Transport) connect(ctx context.Context, address string) (*conn, error) {
	for {
		c := t.take(address)
		if c == nil {
			break
		}
		if c.ready() == nil && c.alive() {
			return c, nil
		}
		c.close()
	}
	connection, err := t.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	c := newConn(t, address, connection)
	if err := c.ready(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (t *Transport) take(address string) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	stack := t.idle[address]
	if len(stack) == 0 {
		return nil
	}
	c := stack[len(stack)-1]
	stack[len(stack)-1] = nil
	t.idle[address] = stack[:len(stack)-1]
	return c
}

// give keeps a connection for the next request.
func (t *Transport) give(c *conn) {
	if c.probe == nil { // data that arrives meanwhile would not be noticed
		c.close()
		return
	}
	c.used, c.since = true, time.Now()
	c.response = Response{}
	if clear(c.fields[:cap(c.fields)]); cap(c.fields) > maxKeptFields {
		c.fields = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stack := t.idle[c.address]
	if t.closed || len(stack) >= t.MaxIdle {
		c.close()
		return
	}
	if t.idle == nil {
		t.idle = map[string][]*conn{}
	}
	t.idle[c.address] = append(stack, c)
	if t.reaper == nil {
		t.reaper = time.AfterFunc(t.IdleTimeout, t.reap)
	}
}

// maxKeptFields bounds what an idle connection keeps for header fields.
const maxKeptFields = 128

// reap closes connections that were idle for too long.
func (t *Transport) reap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	left := false
	for address, stack := range t.idle {
		old := 0
		for old < len(stack) && time.Since(stack[old].since) >= t.IdleTimeout {
			stack[old].close()
			old++
		}
		if old == len(stack) {
			delete(t.idle, address)
			continue
		}
		t.idle[address] = append([]*conn(nil), stack[old:]...)
		left = true
	}
	if left {
		t.reaper.Reset(t.IdleTimeout / 2)
	} else {
		t.reaper = nil
	}
}

// Close closes connections that are idle, and the others when they become so.
func (t *Transport) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.reaper != nil {
		t.reaper.Stop()
	}
	for _, stack := range t.idle {
		for _, c := range stack {
			c.close()
		}
	}
	t.idle = nil
}
