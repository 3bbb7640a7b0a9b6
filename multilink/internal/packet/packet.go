package packet

// LinkID names a link of a bond, from 0 on. It stays the same as long as the
// link is there. See [Bond.LinkID].
type LinkID int

// Packet is to be sent over a link.
type Packet struct {
	Link LinkID
	// Class is the index of the frame's class, or -1: the queue of a
	// [Scheduler] that it belongs to.
	Class int
	// Control packets are probes: they go ahead of everything, with
	// [Tunnel.SendControl].
	Control bool
	// Buffer of the packet. Release it once it is sent or dropped.
	Buffer *Buffer
}

// Data are the bytes to send. They are valid until the buffer's release, and
// not to be changed.
func (p Packet) Data() []byte { return p.Buffer.Data() }

// span is a run of sequence numbers, ends included.
type Span struct{ First, Last uint64 }
