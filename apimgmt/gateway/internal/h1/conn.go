package h1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a connection. One exchange at a time uses it.
type conn struct {
	transport *Transport
	address   string
	net       net.Conn
	probe     *probe
	r         *bufio.Reader
	w         *bufio.Writer
	streaming bool      // a body is read: the time counts from one read to the next
	used      bool      // for a request before
	since     time.Time // when it became idle
	closeOnce sync.Once
	end       func() // close, as a value

	response Response
	fields   []field
}

func newConn(t *Transport, address string, connection net.Conn) *conn {
	c := &conn{
		transport: t, address: address, net: connection, probe: newProbe(connection), w: bufio.NewWriter(connection),
	}
	c.r = bufio.NewReader(reader{c})
	c.end = c.close
	return c
}

// reader reads from a connection within the time.
type reader struct{ c *conn }

// Read reads what has come.
func (r reader) Read(p []byte) (int, error) {
	if c := r.c; c.streaming {
		if err := c.net.SetReadDeadline(time.Now().Add(c.transport.Read)); err != nil {
			return 0, err
		}
	}
	return r.c.net.Read(p)
}

// ready sets the time for the request and the header of the response.
func (c *conn) ready() error {
	now, t := time.Now(), c.transport
	c.streaming = false
	if t.Read == t.Write {
		return c.net.SetDeadline(now.Add(t.Read))
	}
	return errors.Join(c.net.SetWriteDeadline(now.Add(t.Write)), c.net.SetReadDeadline(now.Add(t.Read)))
}

// upload is the sending of a request's body.
type upload struct {
	state atomic.Int32 // 0 at first; the goroutine that changes it may read the body, or prevents that
	read  atomic.Bool  // all of the body
	err   chan error   // how it has ended
}

// The states of an upload.
const (
	uploadBegun int32 = iota + 1
	uploadAbandoned
)

// begin is called before the body is read, and abandon before another attempt reads
// it. Only one of them ever succeeds.
func (u *upload) begin() bool { return u.state.CompareAndSwap(0, uploadBegun) }

func (u *upload) abandon() bool { return u.state.CompareAndSwap(0, uploadAbandoned) }

func (c *conn) close() { c.closeOnce.Do(func() { _ = c.net.Close() }) }

// alive reports whether the service has neither closed the connection nor sent
// an unsolicited response.
func (c *conn) alive() bool { return c.r.Buffered() == 0 && c.probe.quiet() }

// exchange sends a request and reads the header of the response.
func (c *conn) exchange(ctx context.Context, r *Request) (*Response, error) {
	stop := context.AfterFunc(ctx, c.end)
	response, err := c.roundTrip(r)
	if err == nil {
		response.stop = stop
		return response, nil
	}
	stop()
	c.close()
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(err, ErrBodyUsed) {
			cause = fmt.Errorf("%w: %w", ErrBodyUsed, cause)
		}
		return nil, cause
	}
	return nil, err
}

func (c *conn) roundTrip(r *Request) (*Response, error) {
	c.writeHead(r)
	c.response = Response{conn: c}
	var writeErr error
	if r.Body == nil {
		writeErr = c.w.Flush()
	} else {
		up := &upload{err: make(chan error, 1)}
		c.response.up = up
		go func() { up.err <- c.writeBody(r, up) }()
	}
	err := c.readHead(r.Method)
	switch {
	case err == nil:
		c.streaming = true
		return &c.response, nil
	case c.response.up != nil && !c.response.up.abandon():
		return nil, fmt.Errorf("%w: %w", ErrBodyUsed, err)
	case writeErr != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%w: %w", ErrStale, writeErr)
	}
	return nil, err
}

func (c *conn) writeHead(r *Request) {
	w := c.w // errors stick to it
	_, _ = w.WriteString(r.Method)
	_ = w.WriteByte(' ')
	_, _ = w.WriteString(r.Target)
	_, _ = w.WriteString(" HTTP/1.1\r\nHost: ")
	_, _ = w.WriteString(r.Host)
	for name, values := range r.Header {
		if framing(name) {
			continue
		}
		for _, value := range values {
			_, _ = w.WriteString("\r\n")
			_, _ = w.WriteString(name)
			_, _ = w.WriteString(": ")
			_, _ = w.WriteString(value)
		}
	}
	switch {
	case r.Body != nil && r.Length < 0:
		_, _ = w.WriteString("\r\nTransfer-Encoding: chunked")
	case r.Body != nil:
		_, _ = w.WriteString("\r\nContent-Length: ")
		_, _ = w.Write(strconv.AppendInt(w.AvailableBuffer(), r.Length, 10))
	case r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH":
		_, _ = w.WriteString("\r\nContent-Length: 0")
	}
	_, _ = w.WriteString("\r\n\r\n")
}

// writeBody sends the body piece by piece, as it arrives.
func (c *conn) writeBody(r *Request, up *upload) error {
	out := io.Writer(c.w)
	var chunks io.WriteCloser
	if r.Length < 0 {
		chunks = httputil.NewChunkedWriter(c.w)
		out = chunks
	}
	if err := c.w.Flush(); err != nil { // a service may answer the header alone
		return err
	}
	buffer, _ := c.transport.buffers.Get().(*[]byte)
	if buffer == nil {
		space := make([]byte, 16<<10)
		buffer = &space
	}
	defer c.transport.buffers.Put(buffer)
	if !up.begin() {
		return errAbandoned
	}
	var total int64
	for r.Length < 0 || total < r.Length {
		n, err := r.Body.Read(*buffer)
		if r.Length >= 0 {
			n = int(min(int64(n), r.Length-total))
		}
		total += int64(n)
		if err == io.EOF || total == r.Length {
			up.read.Store(true)
		}
		if n > 0 {
			if err := c.net.SetWriteDeadline(time.Now().Add(c.transport.Write)); err != nil {
				return err
			}
			if _, err := out.Write((*buffer)[:n]); err != nil {
				return err
			}
			if err := c.w.Flush(); err != nil {
				return err
			}
			// The service need not answer as long as it is sent something.
			if err := c.net.SetReadDeadline(time.Now().Add(c.transport.Read)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			c.close() // half a body must not look like a whole one
			return err
		}
	}
	if r.Length >= 0 && total != r.Length {
		c.close()
		return fmt.Errorf("%w: the body has %d bytes, not %d", ErrInvalidRequest, total, r.Length)
	}
	if chunks == nil {
		return nil
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	if _, err := c.w.WriteString("\r\n"); err != nil {
		return err
	}
	return c.w.Flush()
}

// framing reports whether a field is the transport's own affair.
func framing(name string) bool {
	switch len(name) { // of those below, so that few names are compared
	case 4, 7, 10, 14, 17:
		for _, own := range [...]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade"} {
			if len(own) == len(name) && strings.EqualFold(own, name) {
				return true
			}
		}
	}
	return false
}

// check finds what would break out of its place in the request.
func (r *Request) check() error {
	switch {
	case !isToken(r.Method):
		return fmt.Errorf("%w: method %q", ErrInvalidRequest, r.Method)
	case r.Target == "" || !isVisible(r.Target):
		return fmt.Errorf("%w: target %q", ErrInvalidRequest, r.Target)
	case r.Host == "" || !isVisible(r.Host):
		return fmt.Errorf("%w: host %q", ErrInvalidRequest, r.Host)
	}
	for name, values := range r.Header {
		if !isToken(name) {
			return fmt.Errorf("%w: header field name %q", ErrInvalidRequest, name)
		}
		for _, value := range values {
			if !isFieldValue(value) {
				return fmt.Errorf("%w: value of header field %q", ErrInvalidRequest, name)
			}
		}
	}
	return nil
}

func isToken(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

// isVisible reports whether a text has neither space nor control characters.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// isFieldValue reports whether a text may be the value of a field (RFC 9110, 5.5).
func isFieldValue(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// tokenBytes are those of names and methods (RFC 9110, 5.6.2).
var tokenBytes = [256]bool{
	'!': true, '#': true, '$': true, '%': true, '&': true, '\'': true, '*': true, '+': true, '-': true, '.': true,
	'^': true, '_': true, '`': true, '|': true, '~': true,
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'A': true, 'B': true, 'C': true, 'D': true, 'E': true, 'F': true, 'G': true, 'H': true, 'I': true, 'J': true,
	'K': true, 'L': true, 'M': true,
	'N': true, 'O': true, 'P': true, 'Q': true, 'R': true, 'S': true, 'T': true, 'U': true, 'V': true, 'W': true,
	'X': true, 'Y': true, 'Z': true,
	'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true, 'g': true, 'h': true, 'i': true, 'j': true,
	'k': true, 'l': true, 'm': true,
	'n': true, 'o': true, 'p': true, 'q': true, 'r': true, 's': true, 't': true, 'u': true, 'v': true, 'w': true,
	'x': true, 'y': true, 'z': true,
}
