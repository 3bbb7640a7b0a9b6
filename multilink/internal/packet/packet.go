package packet

// LinkID identifies a link within a bond, from 0 on. It stays the same as long as
// the bond has the link.
type LinkID int

// Packet is a packet to send over a link.
type Packet struct {
	Link LinkID
	// Class is the index of the frame's class, or -1. It decides the queue of the
	// scheduler.
	Class int
	// Control packets are probes. They go ahead of everything, by the tunnel's
	// SendControl.
	Control bool
	// Buffer of the packet. Release it once it is sent or dropped.
	Buffer *Buffer
}

// Data returns the bytes to send. They are valid until the buffer's release, and
// not to be changed.
func (p Packet) Data() []byte { return p.Buffer.Data() }

// Span is a run of sequence numbers, ends included.
type Span struct{ First, Last uint64 }
