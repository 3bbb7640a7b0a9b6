package flower

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// link is a stream of this server at another one: gRPC over HTTP/2, by package http. A
// client of package grpc reads a message whole, whatever its size, and takes every message
// that it is given. A link reads one once its size is admitted, and send returns when flow
// control has let the message go. One goroutine receives, and one sends.
type link struct {
	limit    int64
	out      *io.PipeWriter
	answered chan struct{} // closed once the other server has answered
	response *http.Response
	failure  error // in place of a response
	closed   chan struct{}
}

// The keep-alive of the connection between two servers: it ends soon after the other
// machine has.
const (
	linkPing    = 10 * time.Second
	linkTimeout = 5 * time.Second
	linkWindow  = 256 << 10 // bytes that the other server may send ahead of admission
)

// messageHeader is how many bytes gRPC sends before a message: a flag and its length.
const messageHeader = 5

// openLink begins a stream, which lasts until the context ends.
func openLink(ctx context.Context, config RelayConfig, header string, limit int64) (*link, error) {
	scheme, protocols := "http", new(http.Protocols)
	if config.TLS != nil {
		scheme = "https"
	}
	protocols.SetHTTP2(config.TLS != nil)
	protocols.SetUnencryptedHTTP2(config.TLS == nil)
	dial := (&net.Dialer{Timeout: linkPing}).DialContext
	if config.Dial != nil {
		dial = func(ctx context.Context, _, target string) (net.Conn, error) { return config.Dial(ctx, target) }
	}
	body, out := io.Pipe()
	address := url.URL{Scheme: scheme, Host: config.Target, Path: joinPath}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	request.Header.Set(relayHeader, header)
	transport := &http.Transport{
		Protocols: protocols, DialContext: dial, TLSClientConfig: cloneTLS(config.TLS), TLSHandshakeTimeout: linkPing,
		DisableKeepAlives: true, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: linkWindow, SendPingTimeout: linkPing, PingTimeout: linkTimeout},
	}
	l := &link{limit: limit, out: out, answered: make(chan struct{}), closed: make(chan struct{})}
	go func() {
		defer close(l.closed)
		l.response, l.failure = transport.RoundTrip(request)
		close(l.answered)
		<-ctx.Done()
		if l.failure == nil {
			l.response.Body.Close()
		}
		transport.CloseIdleConnections()
	}()
	return l, nil
}

func cloneTLS(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	return config.Clone()
}

// wait returns once nothing of the link is left, after its context has ended.
func (l *link) wait() { <-l.closed }

// receive returns the next message, once its size is admitted. The error at the end of the
// stream is that of its gRPC status.
func (l *link) receive(admit func(size int64) (func(), error)) (*inbound, error) {
	<-l.answered
	if l.failure != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, l.failure)
	}
	if code := l.response.StatusCode; code != http.StatusOK {
		return nil, fmt.Errorf("the other server answers with status %d, expected %d: is it a training collector?", code, http.StatusOK)
	}
	var header [messageHeader]byte
	if _, err := io.ReadFull(l.response.Body, header[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = l.end()
		}
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(header[1:]))
	switch {
	case header[0] != 0:
		return nil, fmt.Errorf("%w: a compressed message", ErrProtocol)
	case size > l.limit:
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, l.limit)
	}
	release, err := admit(size)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(l.response.Body, data); err != nil {
		release()
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return &inbound{buffers: mem.BufferSlice{mem.SliceBuffer(data)}, release: release}, nil
}

// end returns the error of a stream that has ended.
func (l *link) end() error {
	trailer := l.response.Trailer
	if trailer.Get("Grpc-Status") == "" {
		trailer = l.response.Header
	}
	code, err := strconv.ParseUint(trailer.Get("Grpc-Status"), 10, 32)
	if err != nil || codes.Code(code) == codes.OK {
		return fmt.Errorf("%w without a reconnect instruction", ErrGone)
	}
	text := trailer.Get("Grpc-Message")
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return status.Error(codes.Code(code), text)
}

// send sends a message. When it returns, at most one frame of it is still here.
func (l *link) send(message mem.BufferSlice) error {
	header := make([]byte, messageHeader)
	binary.BigEndian.PutUint32(header[1:], uint32(message.Len()))
	if _, err := l.out.Write(header); err != nil {
		return err
	}
	for _, piece := range message {
		if _, err := l.out.Write(piece.ReadOnlyData()); err != nil {
			return err
		}
	}
	return nil
}

// finish says that there is nothing more to send.
func (l *link) finish() { l.out.Close() }
