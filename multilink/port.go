package multilink

import (
	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// FramePort is where Ethernet frames enter and leave: a TAP device, or one end
// of a pipe. Frames are whole, from the destination address to the last byte
// of payload, without the check sequence.
//
// Read is called by one goroutine and Write by several.
type FramePort interface {
	// Read waits for frames and appends at least one to the batch. ErrClosed
	// ends it.
	Read(batch *Batch) error
	// Write delivers frames in their order; only those of different TCP connections
	// may pass each other. It does not keep them. Frames that the port cannot take
	// now are dropped and counted, as a switch does.
	Write(frames [][]byte) error
	// MTU is the largest payload of a frame: 1,500 where a frame has up to
	// 1,514 bytes, or 1,518 with a VLAN tag.
	MTU() int
	// Close ends Read and Write.
	Close() error
}

// Batch collects frames in buffers that are reused. The zero value is ready.
type Batch struct {
	frames  [][]byte
	buffers [][]byte
}

// MaxFrame is the length of the longest frame that a bond carries: a payload of
// 9,000 bytes, the address fields and two VLAN tags.
const MaxFrame = packet.MaxFrame

// Reset empties the batch. The frames that it held may be overwritten.
func (b *Batch) Reset() { b.frames = b.frames[:0] }

// Frames returns those that were appended since the last Reset. They are valid
// until the next one.
func (b *Batch) Frames() [][]byte { return b.frames }

// Next returns a buffer of MaxFrame bytes to read a frame into. Commit makes
// its first n bytes a frame of the batch.
func (b *Batch) Next() []byte {
	if len(b.frames) == len(b.buffers) {
		b.buffers = append(b.buffers, make([]byte, MaxFrame))
	}
	return b.buffers[len(b.frames)]
}

// Commit makes the first n bytes of what Next returned a frame of the batch.
func (b *Batch) Commit(n int) { b.frames = append(b.frames, b.buffers[len(b.frames)][:n]) }
