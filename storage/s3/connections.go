package s3

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxWrite is how many bytes the server must accept within the timeout.
	maxWrite = 256 << 10
	// idleConnections is how many unused connections are kept open.
	idleConnections = 64
	networkBuffer   = 64 << 10
	idleTimeout     = 30 * time.Second
)

// connections is the HTTP transport. It closes a connection that is idle for
// the timeout; a whole transfer may take longer. It also tracks the clock of
// the server.
type connections struct {
	transport *http.Transport
	seen      atomic.Pointer[serverTime]
}

// serverTime is a reading of the server's clock.
type serverTime struct {
	date time.Time
	at   time.Time // with the monotonic clock of this process
}

func newConnections(timeout time.Duration, config *tls.Config) *connections {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	dialer := net.Dialer{Timeout: min(timeout, 30*time.Second)}
	return &connections{transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &movingConn{Conn: conn, timeout: timeout}, nil
		},
		TLSClientConfig:       config.Clone(),
		TLSHandshakeTimeout:   min(timeout, 30*time.Second),
		ResponseHeaderTimeout: timeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConns:          idleConnections,
		MaxIdleConnsPerHost:   idleConnections,
		ReadBufferSize:        networkBuffer,
		WriteBufferSize:       networkBuffer,
		DisableCompression:    true, // the bytes must not be changed
	}}
}

// RoundTrip implements [http.RoundTripper]. It returns when the body of the
// request is no longer read, since the library rewinds it to try again, and the
// caller uses its buffer for something else.
func (c *connections) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil && request.Body != http.NoBody {
		body := &sentBody{ReadCloser: request.Body, closed: make(chan struct{})}
		request = request.WithContext(request.Context()) // a copy
		request.Body = body
		defer func() { <-body.closed }()
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		c.seen.Store(&serverTime{date: date.UTC(), at: time.Now()})
	}
	return response, nil
}

// now returns the time by the server's clock, in UTC and whole seconds. Before
// the first answer it is that of this machine.
func (c *connections) now() time.Time {
	seen := c.seen.Load()
	if seen == nil {
		return time.Now().UTC().Truncate(time.Second)
	}
	return seen.date.Add(time.Since(seen.at)).Truncate(time.Second)
}

func (c *connections) closeIdle() { c.transport.CloseIdleConnections() }

// movingConn fails when no bytes are transferred for the timeout. A write
// extends the deadline of the read that waits for the answer.
type movingConn struct {
	net.Conn
	timeout time.Duration
}

// Read implements [net.Conn].
func (c *movingConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements [net.Conn].
func (c *movingConn) Write(p []byte) (int, error) {
	written := 0
	for {
		if err := c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:min(len(p), written+maxWrite)])
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// sentBody is the body of a request. The transport closes it in any case, at
// times only after it has answered.
type sentBody struct {
	io.ReadCloser
	once   sync.Once
	closed chan struct{}
}

// Close implements [io.Closer].
func (b *sentBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() { close(b.closed) })
	return err
}
