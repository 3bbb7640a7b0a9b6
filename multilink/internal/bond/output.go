package bond

import (
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/status"
)

// Output collects what a bond wants done. The zero value is ready; one value
// is meant to be used again and again.
type Output struct {
	// Packets to send, in this order on each link. Whoever takes them releases
	// the buffer of every one.
	Packets []packet.Packet
	// Frames to deliver, in this order. They point into the packet that was
	// received or into memory of the bond: they are valid until the next call
	// of a method of the bond.
	Frames [][]byte
	// Events that happened. Their Peer is empty: a bond does not know its
	// peer's name.
	Events []status.Event
}

// Reset empties the output. It releases nothing: the packets belong to whoever
// took them.
func (o *Output) Reset() {
	clear(o.Packets)
	clear(o.Frames)
	clear(o.Events)
	o.Packets, o.Frames, o.Events = o.Packets[:0], o.Frames[:0], o.Events[:0]
}
