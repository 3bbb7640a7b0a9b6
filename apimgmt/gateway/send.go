package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// head passes status and header through the plugins and sends them.
func (x *Exchange) head(status int, proxied bool) {
	header := x.writer.Header()
	header["X-Kong-Request-Id"] = []string{x.id}
	x.response = Response{Status: status, Header: header, Proxied: proxied}
	for _, i := range x.passed {
		if i.plugin.Head != nil {
			i.plugin.Head(x)
		}
	}
	if x.duplex && !x.clientBody.ended.Load() && header["Content-Length"] == nil && bodyAllowed(x.response.Status) {
		// The end of such a response is the server's to write, after the rest of the
		// request's body was read: see drain.
		header["Connection"], x.closing = []string{"close"}, true
	}
	x.wrote = true
	x.writer.WriteHeader(x.response.Status)
}

// send passes the body through the plugins and sends it, at once or as it arrives.
func (x *Exchange) send(body io.Reader, flush bool) {
	if x.request.Method == http.MethodHead || !bodyAllowed(x.response.Status) {
		return
	}
	for _, i := range x.passed {
		if i.plugin.Body != nil {
			body = i.plugin.Body(x, body)
		}
	}
	buffer := x.gateway.buffer()
	defer x.gateway.buffers.Put(buffer)
	for {
		n, err := body.Read(buffer[:])
		if n > 0 {
			written, writeErr := x.writer.Write(buffer[:n])
			x.sent += int64(written)
			if writeErr != nil {
				x.failure = &clientError{writeErr}
				return
			}
			if flush {
				if flushErr := flushNow(x.writer); flushErr != nil {
					x.failure = &clientError{flushErr}
					return
				}
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			x.failure = err
			return
		}
	}
}

// passOn sends what the server still holds of a response that has broken off: cutting the connection
// drops that.
func (x *Exchange) passOn() {
	var gone *clientError
	if !errors.As(x.failure, &gone) {
		_ = flushNow(x.writer) // what fails is cut as well
	}
}

// clientError is a failure of the client, not of the service.
type clientError struct{ cause error }

// Error returns the cause.
func (e *clientError) Error() string { return "client: " + e.cause.Error() }

// Unwrap returns the cause.
func (e *clientError) Unwrap() error { return e.cause }

func flushNow(w http.ResponseWriter) error {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
		return nil
	}
	err := http.NewResponseController(w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// bodyAllowed reports whether a response of a status may have a body (RFC 9110, 6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// buffers are what bodies pass through.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

// Put gives a buffer back.
func (b *buffers) Put(buffer *[bufferSize]byte) { b.pool.Put(buffer) }

func (g *Gateway) buffer() *[bufferSize]byte {
	if b, ok := g.buffers.pool.Get().(*[bufferSize]byte); ok {
		return b
	}
	return new([bufferSize]byte)
}

// setLatency sets the header fields with the latencies, in milliseconds.
func setLatency(header http.Header, x *Exchange) {
	upstream := x.timing.Upstream.Milliseconds()
	header["X-Kong-Upstream-Latency"] = []string{strconv.FormatInt(upstream, 10)}
	header["X-Kong-Proxy-Latency"] = []string{strconv.FormatInt(max(0, x.Timing().Total.Milliseconds()-upstream), 10)}
}
