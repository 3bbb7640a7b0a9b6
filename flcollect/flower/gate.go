package flower

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/mem"
)

// gate reads the messages of a client's stream from the body of its request. It reads a
// message only when an answer is due and its size was admitted. Until then it does not
// read the body, so flow control stops the client. One goroutine receives.
type gate struct {
	body    io.ReadCloser
	control *http.ResponseController
	chunks  *chunkPool
	admit   func(size int64) (release func(), err error)
	fail    func(error) // ends the session
	limit   int64
	stall   time.Duration

	alive   time.Time // when the deadline of reading was set
	mu      sync.Mutex
	due     bool // an answer is due
	digest  bool // and its parameters are to be digested
	ended   bool // the request is over
	closing bool // the end of the session is being written
}

// expectAnswer allows the next message. Digest has its parameters digested while they are
// read.
func (g *gate) expectAnswer(digest bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due, g.digest = true, digest
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
	defer g.mu.Unlock()
	g.ended = true
}

// receive returns the next message. The error at the end of the stream is io.EOF.
func (g *gate) receive() (*inbound, error) {
	size, release, err := g.open()
	if err != nil {
		return nil, err
	}
	in := &inbound{release: release}
	var digest *digester
	if g.wantsDigest() {
		digest = newDigester()
	}
	for left := size; left > 0; {
		chunk, pool := g.chunks.chunk(left)
		if err := g.fill(*chunk, digest); err != nil {
			if pool != nil {
				pool.Put(chunk)
			}
			in.free()
			return nil, g.readError(err)
		}
		in.buffers = append(in.buffers, mem.NewBuffer(chunk, pool))
		left -= int64(len(*chunk))
	}
	if digest != nil {
		in.digest = digest.sum()
	}
	return in, nil
}

// fill reads a part of a message. It is digested in small pieces, as long as they are in
// the cache of the processor, and while the client sends more.
func (g *gate) fill(part []byte, digest *digester) error {
	for len(part) > 0 {
		g.extend()
		n, err := g.body.Read(part)
		if digest != nil {
			digest.write(part[:n])
		}
		if part = part[n:]; err != nil && len(part) > 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// open waits for the next message and for its admission. It returns its size, and what
// returns the bytes that were admitted.
func (g *gate) open() (size int64, release func(), err error) {
	g.control.SetReadDeadline(time.Time{}) // an http.ResponseWriter that cannot has none set
	var header [messageHeader]byte         // a flag and the size
	if _, err := io.ReadFull(g.body, header[:]); err != nil {
		return 0, nil, err // usually the end of the stream
	}
	size = int64(binary.BigEndian.Uint32(header[1:]))
	switch {
	case header[0] != 0:
		return 0, nil, g.abort(fmt.Errorf("%w: a compressed message", ErrProtocol))
	case size > g.limit:
		return 0, nil, g.abort(fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, g.limit))
	case !g.isDue():
		return 0, nil, g.abort(fmt.Errorf("%w: a message that was not asked for", ErrProtocol))
	}
	release, err = g.admit(size)
	if err != nil {
		return 0, nil, g.abort(fmt.Errorf("admit %d bytes: %w", size, err))
	}
	g.alive = time.Time{}
	return size, release, nil
}

func (g *gate) isDue() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.due
	g.due = false
	return due
}

func (g *gate) wantsDigest() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.digest
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

// chunkPool holds chunks of memory that large messages are read into.
type chunkPool struct{ sync.Pool }

// receiveChunk is the size of a chunk. It fits the cache of a processor.
const receiveChunk = 256 << 10

// chunk returns memory for the next bytes of a message, of which so many are left, and the
// pool that takes it back; nil for none.
func (p *chunkPool) chunk(left int64) (*[]byte, mem.BufferPool) {
	if left < receiveChunk { // a whole chunk would hold more than was admitted
		data := make([]byte, left)
		return &data, nil
	}
	return p.Get(receiveChunk), p
}

// Get implements mem.BufferPool.
func (p *chunkPool) Get(length int) *[]byte {
	data, ok := p.Pool.Get().(*[]byte)
	if !ok {
		made := make([]byte, receiveChunk)
		data = &made
	}
	*data = (*data)[:length]
	return data
}

// Put implements mem.BufferPool.
func (p *chunkPool) Put(data *[]byte) { p.Pool.Put(data) }
