package gateway

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// ErrBodyTooLong is what a reader in the place of a request's body returns if the
// body is longer than it allows. The gateway then answers with 413.
var ErrBodyTooLong = errors.New("gateway: body of the request is too long")

var errBodyPanic = errors.New("gateway: reading the body of the request panics")

// clientBody is the body of a request as the server reads it from the connection. The
// connection to the service may read it for a moment longer than the exchange lasts, at
// the same time as drain does: the server's reader allows that.
type clientBody struct {
	reader io.Reader
	length int64        // -1 if it is unknown
	count  atomic.Int64 // bytes that were read
	ended  atomic.Bool  // the server has read the end of the body from the connection
}

// Read reads on.
func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	b.count.Add(int64(n))
	if err == io.EOF {
		b.ended.Store(true)
	}
	return n, err
}

// left is how many bytes follow, at least 1 if that is unknown.
func (b *clientBody) left() int64 {
	if b.length < 0 {
		return 1
	}
	return b.length - b.count.Load()
}

// What the gateway reads of a request's body once the response is over, so that a client
// that is still sending gets the response, and can use the connection again.
const (
	drainBytes = 1 << 20
	drainTime  = time.Second
	// serverDrain is how much net/http's server reads by itself after a handler; with
	// more than that left it ends the connection in good order.
	serverDrain = 256 << 10
)

// drain reads the rest of the request's body after the response, up to a limit in bytes
// and time. net/http's server leaves that to handlers that send and receive at once: a
// connection that is closed with unread data is reset, and a body that ends after the
// handler has returned disturbs the next request. drain returns false if the connection
// has to be cut.
func (x *Exchange) drain() bool {
	b := x.clientBody
	if b == nil || !x.duplex || b.ended.Load() || x.response.Status == http.StatusSwitchingProtocols {
		return true
	}
	if b.left() > drainBytes || (b.count.Load() == 0 && x.request.Header["Expect"] != nil) {
		return true // the server ends the connection
	}
	if err := flushNow(x.writer); err != nil {
		return false
	}
	control := http.NewResponseController(x.writer)
	if err := control.SetReadDeadline(time.Now().Add(drainTime)); err != nil {
		return false
	}
	_, _ = io.CopyN(io.Discard, b, drainBytes) // whatever fails, the end was not reached
	if b.ended.Load() || b.left() > serverDrain {
		return true
	}
	_ = control.SetReadDeadline(time.Unix(1, 0)) // the rest is not read
	return x.closing
}

// requestBody counts what is read of a body, and bounds it. The connection to the
// service may read it for a moment longer than the exchange lasts.
type requestBody struct {
	reader  io.Reader
	limit   int64 // or zero
	log     *slog.Logger
	count   atomic.Int64
	waiting atomic.Bool // for the client
	long    atomic.Bool
	broken  atomic.Bool // it has failed in another way
}

// Read reads on. It runs in a goroutine of the connection to the service, where a
// panic would end the process.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.waiting.Store(true)
	defer func() {
		if cause := recover(); cause != nil {
			n, err = 0, errBodyPanic
			if cause != http.ErrAbortHandler {
				b.log.Error("read body of request", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			}
		}
		switch {
		case err == nil || err == io.EOF:
		case errors.Is(err, ErrBodyTooLong):
			b.long.Store(true)
		default:
			b.broken.Store(true)
		}
		b.waiting.Store(false)
	}()
	n, err = b.reader.Read(p)
	if total := b.count.Add(int64(n)); b.limit > 0 && total > b.limit {
		n, err = 0, ErrBodyTooLong
	}
	return n, err
}

// toBlame reports whether a request has failed with an error because of its body:
// the client has sent too much, or broken off, or does not go on.
func (b *requestBody) toBlame(err error) bool {
	return b.long.Load() || b.broken.Load() || (b.waiting.Load() && isTimeout(err))
}

// onceBody is a body for one attempt. Transports of net/http may read a body after
// they have failed; then no other attempt may.
type onceBody struct {
	body  *requestBody
	state atomic.Int32 // 0 at first; 1 when it was begun, 2 when it is not read any more
}

// Read reads on, unless the attempt is over.
func (o *onceBody) Read(p []byte) (int, error) {
	if o.state.Load() != 1 && !o.state.CompareAndSwap(0, 1) {
		return 0, http.ErrBodyReadAfterClose
	}
	return o.body.Read(p)
}

// Close does nothing: the body is the server's.
func (o *onceBody) Close() error { return nil }

// abandon reports whether nothing was read, and ensures that nothing will be.
func (o *onceBody) abandon() bool { return o.state.CompareAndSwap(0, 2) }
