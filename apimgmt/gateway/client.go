package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/balance"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/h1"
)

// clientKey is everything about connections that differs from service to service.
type clientKey struct {
	secure, verify, grpc bool
	connect, write, read time.Duration
}

// client connects to services with the same settings. Tables share it.
type client struct {
	key       clientKey
	transport *http.Transport
	plain     *h1.Transport // for HTTP/1.1 without TLS; nil if the service has another
	users     int           // tables; guarded by Gateway.clientsMu
	gateway   *Gateway
}

// openClient returns the client of a key, and notes that the table uses it.
func (g *Gateway) openClient(t *table, key clientKey) *client {
	if c := t.clients[key]; c != nil {
		return c
	}
	g.clientsMu.Lock()
	defer g.clientsMu.Unlock()
	c := g.clients[key]
	if c == nil {
		c = &client{key: key, transport: newTransport(key, g), gateway: g}
		if !key.secure && !key.grpc && h1.Reuses && !g.options.Transport.NetHTTP {
			c.plain = newPlain(key, g)
		}
		g.clients[key] = c
	}
	c.users++
	t.clients[key] = c
	return c
}

// release ends the use by one table, and with the last one the connections.
func (c *client) release() {
	c.gateway.clientsMu.Lock()
	defer c.gateway.clientsMu.Unlock()
	if c.users--; c.users == 0 {
		delete(c.gateway.clients, c.key)
		c.transport.CloseIdleConnections()
		if c.plain != nil {
			c.plain.Close()
		}
	}
}

func newPlain(key clientKey, g *Gateway) *h1.Transport {
	options := g.options.Transport
	dialer := net.Dialer{Timeout: key.connect, KeepAlive: 30 * time.Second, Control: g.policy.Control}
	return &h1.Transport{
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		},
		MaxIdle: maxIdlePerHost, IdleTimeout: options.IdleTimeout, MaxHeader: maxResponseHeader,
		Read: key.read, Write: key.write,
	}
}

func newTransport(key clientKey, g *Gateway) *http.Transport {
	options := g.options.Transport
	dialer := net.Dialer{Timeout: key.connect, KeepAlive: 30 * time.Second, Control: g.policy.Control}
	protocols := new(http.Protocols)
	switch {
	case key.grpc && key.secure:
		protocols.SetHTTP2(true)
	case key.grpc:
		protocols.SetUnencryptedHTTP2(true)
	default:
		protocols.SetHTTP1(true)
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &timedConn{Conn: connection, write: key.write}, nil
		},
		Protocols:              protocols,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: options.RootCAs, InsecureSkipVerify: !key.verify},
		TLSHandshakeTimeout:    key.connect,
		ResponseHeaderTimeout:  key.read,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        options.IdleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// timedConn bounds the time of each write.
type timedConn struct {
	net.Conn
	write time.Duration
}

// Write writes within the time.
func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.write)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// probe checks the health of a target.
func (g *Gateway) probe(ctx context.Context, peer *balance.Peer, check *entity.ActiveCheck) (int, error) {
	dialer := net.Dialer{Control: g.policy.Control}
	if check.Type == "tcp" {
		connection, err := dialer.DialContext(ctx, "tcp", peer.Address)
		if err != nil {
			return 0, err
		}
		return http.StatusOK, connection.Close()
	}
	transport := &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: g.options.Transport.RootCAs, ServerName: check.HTTPSSNI,
			InsecureSkipVerify: check.HTTPSVerifyCertificate != nil && !*check.HTTPSVerifyCertificate,
		},
		MaxResponseHeaderBytes: maxResponseHeader,
	}
	scheme, path := "http", "/"
	if check.Type == "https" {
		scheme = "https"
	}
	if check.HTTPPath != "" {
		path = check.HTTPPath
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+peer.Address+path, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", g.options.Name+"-health-check")
	for name, values := range check.Headers {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
