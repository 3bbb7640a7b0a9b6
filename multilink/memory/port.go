package memory

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/multilink"
)

// Port is one end of a pipe of frames: what is written to one is read
// from the other. It is a [FramePort], and holds up to 1,024 frames that wait
// to be read.
type Port struct {
	mtu     int
	in      *frameQueue
	out     *frameQueue
	removed func() // called by Close, or nil
}

// portFrames is how many frames wait in each direction, about as many as
// in a TAP device.
const portFrames = 1024

// NewPipe creates a pipe whose frames carry up to mtu bytes; zero is 1,500.
func NewPipe(mtu int) (a, b *Port) {
	if mtu <= 0 {
		mtu = 1500
	}
	there, back := newFrameQueue(), newFrameQueue()
	return &Port{mtu: mtu, in: back, out: there}, &Port{mtu: mtu, in: there, out: back}
}

// Read waits for frames and appends up to 128 of them to the batch. After
// Close of either end it returns what still waits, and then ErrClosed.
func (p *Port) Read(batch *multilink.Batch) error {
	if !p.in.take(batch) {
		return fmt.Errorf("read port: %w", multilink.ErrClosed)
	}
	return nil
}

// Write copies the frames to the other end. Those that are too long, or find
// no room, are dropped.
func (p *Port) Write(frames [][]byte) error {
	for _, frame := range frames {
		if len(frame) > p.mtu+multilink.MaxFrame-9000 || len(frame) > multilink.MaxFrame {
			p.out.dropped.Add(1)
			continue
		}
		if !p.out.put(frame) {
			return fmt.Errorf("write port: %w", multilink.ErrClosed)
		}
	}
	return nil
}

// MTU returns the largest payload of a frame.
func (p *Port) MTU() int { return p.mtu }

// Dropped returns how many of the frames that were written to this end were dropped.
func (p *Port) Dropped() uint64 { return p.out.dropped.Load() }

// Close ends both ends. A second Close returns nil.
func (p *Port) Close() error {
	p.in.end()
	p.out.end()
	if p.removed != nil {
		p.removed()
	}
	return nil
}

// frameQueue is one direction of a pipe: a ring whose buffers are used again.
type frameQueue struct {
	dropped atomic.Uint64

	mu     sync.Mutex
	filled sync.Cond // for the readers
	ring   [][]byte
	first  int
	count  int
	closed bool
}

func newFrameQueue() *frameQueue {
	q := &frameQueue{ring: make([][]byte, portFrames)}
	q.filled.L = &q.mu
	return q
}

func (q *frameQueue) put(frame []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false
	case q.count == len(q.ring):
		q.dropped.Add(1)
	default:
		slot := (q.first + q.count) % len(q.ring)
		q.ring[slot] = append(q.ring[slot][:0], frame...)
		q.count++
		q.filled.Signal()
	}
	return true
}

// take waits for frames. It returns false once there will be no more.
func (q *frameQueue) take(batch *multilink.Batch) bool {
	const most = 128
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.count == 0 {
		if q.closed {
			return false
		}
		q.filled.Wait()
	}
	for range min(q.count, most) {
		batch.Commit(copy(batch.Next(), q.ring[q.first]))
		q.first = (q.first + 1) % len(q.ring)
		q.count--
	}
	return true
}

func (q *frameQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}
