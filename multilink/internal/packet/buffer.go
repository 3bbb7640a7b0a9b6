package packet

import (
	"sync"
	"sync/atomic"
)

// Buffer holds the bytes of one packet. Several packets and the replay buffer of the
// bond may share it. It is not written to while it is shared, and is reused once
// every user has released it.
//
// It is safe for use by several goroutines.
type Buffer struct {
	data  []byte
	size  int // index of its size class
	users atomic.Int32
	pool  *Pool
}

// Data returns the bytes of the packet, header included. They are valid until the
// caller's Release.
func (b *Buffer) Data() []byte { return b.data }

// Release ends the caller's use of the bytes. Every packet is released once; one
// release too many panics.
func (b *Buffer) Release() {
	switch users := b.users.Add(-1); {
	case users == 0:
		b.pool.classes[b.size].Put(b)
	case users < 0:
		panic("multilink: buffer released twice")
	}
}

// Retain adds n users.
func (b *Buffer) Retain(n int32) { b.users.Add(n) }

// Charge returns how much memory the buffer takes, used or not.
func (b *Buffer) Charge() int { return cap(b.data) }

// bufferSizes returns the sizes of buffers: for acknowledgements and voice, for
// probes of many links, for a LAN's frames, and for the longest.
func bufferSizes() [4]int {
	return [4]int{256, 768, 1536, HeaderSize + MaxFrame + 64}
}

// Pool creates buffers, and keeps released ones for use again.
type Pool struct {
	sizes   [4]int
	classes [4]sync.Pool
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{sizes: bufferSizes()} }

// Get returns a buffer of n bytes with one user. Its bytes are not zeroed. It
// is nil where n is more than the longest packet.
func (p *Pool) Get(n int) *Buffer {
	for i, size := range p.sizes {
		if n > size {
			continue
		}
		b, _ := p.classes[i].Get().(*Buffer)
		if b == nil {
			b = &Buffer{data: make([]byte, size), size: i, pool: p}
		}
		b.data = b.data[:n]
		b.users.Store(1)
		return b
	}
	return nil
}
