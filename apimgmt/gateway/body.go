package gateway

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
)

// ErrBodyTooLong is what a reader in the place of a request's body returns if the
// body is longer than it allows. The gateway then answers with 413.
var ErrBodyTooLong = errors.New("gateway: body of the request is too long")

var errBodyPanic = errors.New("gateway: reading the body of the request panics")

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
	return b.long.Load() || b.broken.Load() || b.waiting.Load() && isTimeout(err)
}

// onceBody is a body for one attempt. Transports of net/http may read a body after
// they have failed; then nobody else may.
type onceBody struct {
	body  *requestBody
	state atomic.Int32 // 0 at first; 1 when it was begun, 2 when nobody reads it any more
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

// abandon reports whether nothing was read, and sees to it that nothing will be.
func (o *onceBody) abandon() bool { return o.state.CompareAndSwap(0, 2) }
