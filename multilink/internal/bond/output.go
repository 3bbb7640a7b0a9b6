package bond

import (
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/status"
)

// Output collects what a call of a bond asks its owner to do. The zero value is ready;
// one value is meant to be reused.
type Output struct {
	// Packets to send, in this order on each link. The owner of the
	// bond releases the buffer of every one.
	Packets []packet.Packet
	// Frames to deliver, in this order. They point into the packet that was
	// received or into memory of the bond: they are valid until the next call
	// of a method of the bond.
	Frames [][]byte
	// Events that happened. Their Peer is empty: a bond has no name for
	// its peer.
	Events []status.Event
}

// Reset empties the output. It releases nothing: the packets belong to the
// owner of the bond.
func (o *Output) Reset() {
	clear(o.Packets)
	clear(o.Frames)
	clear(o.Events)
	o.Packets = o.Packets[:0]
	o.Frames = o.Frames[:0]
	o.Events = o.Events[:0]
}
