package flower

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// gate wraps the body of a client's stream. It reads a message only when an
// answer is due and its size was admitted. Until then it does not read the
// body, so flow control stops the client. One goroutine, that of grpc, reads
// from it.
type gate struct {
	ctx     context.Context // of the stream
	body    io.ReadCloser
	control *http.ResponseController
	admit   func(size int64) (release func(), err error)
	fail    func(error) // ends the session
	limit   int64
	stall   time.Duration

	header  [5]byte // of the message: a flag and its length
	unread  []byte  // bytes of header that Read has not returned yet
	left    int64   // bytes of the message that are not read yet
	alive   time.Time
	mu      sync.Mutex
	due     bool   // an answer is due
	ended   bool   // the request is over
	closing bool   // the end of the session is being written
	release func() // returns the bytes that were admitted for the answer
}

// expectAnswer allows the next message.
func (g *gate) expectAnswer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due = true
}

// takeRelease returns the function that releases the answer that was read,
// once.
func (g *gate) takeRelease() func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	release := g.release
	g.release = nil
	if release == nil {
		release = func() {}
	}
	return release
}

// limitWrites sets a deadline for what is still written to the client.
func (g *gate) limitWrites(within time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
	if !g.ended {
		g.control.SetWriteDeadline(time.Now().Add(within))
	}
}

// extendWrites moves the deadline of the next bytes to the client forward.
func (g *gate) extendWrites() { g.writeUntil(time.Now().Add(g.stall)) }

// freeWrites removes the deadline.
func (g *gate) freeWrites() { g.writeUntil(time.Time{}) }

func (g *gate) writeUntil(deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended && !g.closing {
		g.control.SetWriteDeadline(deadline)
	}
}

// finish ends the use of the request.
func (g *gate) finish() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.takeRelease()()
}

// Read implements io.Reader. It fills p as far as the message goes: grpc keeps
// the buffers until the answer is released, so half-empty ones waste memory.
func (g *gate) Read(p []byte) (int, error) {
	if len(g.unread) == 0 && g.left == 0 {
		if err := g.open(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.unread)
	g.unread = g.unread[n:]
	if want := min(int64(len(p)-n), g.left); want > 0 {
		g.extend()
		m, err := io.ReadFull(g.body, p[n:n+int(want)])
		n += m
		if g.left -= int64(m); err != nil {
			return n, g.readError(err)
		}
	}
	return n, nil
}

// open waits for the next message and for its admission.
func (g *gate) open() error {
	g.control.SetReadDeadline(time.Time{}) // an http.ResponseWriter that cannot has none set
	if _, err := io.ReadFull(g.body, g.header[:]); err != nil {
		return err // usually the end of the stream
	}
	size := int64(binary.BigEndian.Uint32(g.header[1:]))
	switch {
	case g.header[0] != 0:
		return g.abort(fmt.Errorf("%w: a compressed message", ErrProtocol))
	case size > g.limit:
		return g.abort(fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, g.limit))
	case !g.isDue():
		return g.abort(fmt.Errorf("%w: a message that was not asked for", ErrProtocol))
	}
	release, err := g.admit(size)
	if err != nil {
		return g.abort(fmt.Errorf("admit %d bytes: %w", size, err))
	}
	g.mu.Lock()
	g.release = sync.OnceFunc(release)
	g.mu.Unlock()
	g.unread, g.left, g.alive = g.header[:], size, time.Time{}
	return nil
}

func (g *gate) isDue() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.due
	g.due = false
	return due
}

// extend moves the deadline of the next bytes forward.
func (g *gate) extend() {
	if now := time.Now(); now.Sub(g.alive) > g.stall/8 {
		g.alive = now
		g.control.SetReadDeadline(now.Add(g.stall))
	}
}

// readError returns the error of a body that ended inside a message.
func (g *gate) readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return g.abort(fmt.Errorf("%w: nothing came for %v in the middle of an answer", ErrTimeout, g.stall))
	}
	return err
}

func (g *gate) abort(err error) error {
	g.fail(err)
	return err
}

// Close implements io.Closer. It is called when the stream ends.
func (g *gate) Close() error { return g.body.Close() }
