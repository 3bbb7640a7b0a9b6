package multilink

// LinkID names a link of a bond, from 0 on. It stays the same as long as the
// link is there. See [Bond.LinkID].
type LinkID int

// Output collects what a bond wants done. The zero value is ready; one value
// is meant to be used again and again.
type Output struct {
	// Packets to send, in this order on each link. Whoever takes them releases
	// the buffer of every one.
	Packets []Packet
	// Frames to deliver, in this order. They point into the packet that was
	// received or into memory of the bond: they are valid until the next call
	// of a method of the bond.
	Frames [][]byte
	// Events that happened. Their Peer is empty: a bond does not know its
	// peer's name.
	Events []Event
}

// Reset empties the output. It releases nothing: the packets belong to whoever
// took them.
func (o *Output) Reset() {
	clear(o.Packets)
	clear(o.Frames)
	clear(o.Events)
	o.Packets, o.Frames, o.Events = o.Packets[:0], o.Frames[:0], o.Events[:0]
}

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
