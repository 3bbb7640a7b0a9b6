package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// The fields that say where the body of a request ends, as lines begin with them.
const (
	lengthField = "content-length:"
	codingField = "transfer-encoding:"
)

// framing has a server end the connection after the answer to a request whose end two servers may
// see in different places: one with Content-Length and Transfer-Encoding, and one of HTTP/1.0 with
// Transfer-Encoding (RFC 9112 section 6.1). Package http removes the fields before a handler
// sees them, so they are found in what is read from the connection. Over TLS that cannot be seen: there every
// request with Transfer-Encoding, and every one of HTTP/1.0, ends its connection.
func framing(s *http.Server) {
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, framedKey{}, conn)
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		old := !r.ProtoAtLeast(1, 1)
		if coded := len(r.TransferEncoding) > 0; r.ProtoMajor == 1 && (old || coded) {
			conn, seen := r.Context().Value(framedKey{}).(*framedConn)
			if !seen || (old && conn.coded.Load()) || (coded && conn.both.Load()) {
				w.Header().Set("Connection", "close")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// framedKey is the key of the connection in the context of a request.
type framedKey struct{}

// framedListener accepts connections that are watched, unless they have TLS.
type framedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l framedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if _, secure := conn.(*tls.Conn); err != nil || secure {
		return conn, err
	}
	return &framedConn{Conn: conn}, nil
}

// framedConn watches the lines that are read from a connection. It does not know which of them
// are the header of a request: lines of a body that look like such a header count too, which costs
// a connection and never misses one. What it has found holds until the connection ends, as
// requests may be read before their turn.
type framedConn struct {
	net.Conn
	line   [len(codingField)]byte // how the current line begins
	filled int                    // bytes of it
	length bool                   // a field with a length since the last empty line
	coding bool                   // a field with a coding likewise

	coded, both atomic.Bool // whether there was a coding, and both fields without an empty line between them
}

// NetConn returns the connection that is watched, as [tls.Conn.NetConn] does.
func (c *framedConn) NetConn() net.Conn { return c.Conn }

// Read implements net.Conn.
func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.watch(p[:n])
	return n, err
}

// CloseWrite ends the answers, as that of a connection within a bound does.
func (c *framedConn) CloseWrite() error { return closeWrite(c.Conn) }

// ReadFrom implements io.ReaderFrom: the kernel copies files to the connection.
func (c *framedConn) ReadFrom(from io.Reader) (int64, error) { return io.Copy(c.Conn, from) }

// watch takes what was read.
func (c *framedConn) watch(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			c.filled += copy(c.line[c.filled:], p)
			return
		}
		line := p[:end]
		if c.filled > 0 { // it began with what was read before
			c.filled += copy(c.line[c.filled:], line)
			line = c.line[:c.filled]
			c.filled = 0
		}
		c.endLine(line)
		p = p[end+1:]
	}
}

// endLine takes the begin of a line, without the line feed.
func (c *framedConn) endLine(line []byte) {
	switch {
	case len(line) == 0 || (len(line) == 1 && line[0] == '\r'):
		c.length, c.coding = false, false
		return
	case beginsWith(line, lengthField):
		c.length = true
	case beginsWith(line, codingField):
		c.coding = true
		c.coded.Store(true)
	default:
		return
	}
	if c.length && c.coding {
		c.both.Store(true)
	}
}

// beginsWith reports whether a line begins with a field in any letters. The text is in lower case.
func beginsWith(line []byte, field string) bool {
	return len(line) >= len(field) && line[0]|0x20 == field[0] && bytes.EqualFold(line[:len(field)], []byte(field))
}
