package bond

import (
	"math"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// sender turns frames into packets of data: it numbers them, chooses their links,
// and keeps them until the peer has acknowledged them.
type sender struct {
	*core
	selector *selector
	sequence uint64 // of the next data packet
	replay   replay
	pacer    pacer

	hold      time.Duration // until then nothing that waits is sent; 0 means none
	holdBelow uint64        // unless all packets below have arrived
}

// maxHold is how long frames wait at most for those that they would overtake.
const maxHold = 150 * time.Millisecond

// sendPieces sends a frame in several packets. It reports false where the links
// carry so little that the frame would need too many.
func (s *sender) sendPieces(frame []byte, sel *selection, class int, flow uint32, out *Output) bool {
	pieces, ok := packet.NewSplit(frame, s.mtu)
	if !ok {
		return false
	}
	s.counters.Fragmented++
	for i := range pieces.Count {
		buffer := s.pool.Get(pieces.Size(i))
		pieces.Put(i, buffer.Data()[packet.HeaderSize:])
		s.dispatch(packet.TypeFragment, buffer, sel, class, flow, out)
	}
	return true
}

// unsendable reports whether frames of a class have no link and may not wait for
// one.
func (s *sender) unsendable(sel *selection) bool {
	return (sel.count == 0 || !s.peer.established) && (s.config.NoReplay || sel.noReplay)
}

// dispatch sends a packet whose header is still to be written, or keeps it until
// its turn. It takes the buffer over.
func (s *sender) dispatch(
	kind uint8, buffer *packet.Buffer, sel *selection, class int, flow uint32, out *Output,
) {
	c, sequence := s.core, s.sequence
	s.sequence++
	packet.Header{Kind: kind, Tag: packet.EpochTag(c.epoch), Sequence: sequence}.Put(buffer.Data())
	links, waits := sel.linksFor(flow), false
	switch {
	case sel.count == 0 || !c.peer.established:
		links, waits = 0, true
	case sel.queues(flow) && !sel.noReplay:
		links, waits = links&sel.direct, true
	}
	forget := c.config.NoReplay || sel.noReplay
	if waits || !forget {
		s.replay.keep(sequence, kept{
			buffer: buffer, at: c.now, links: links, flow: flow, class: int16(class),
			waits: waits, sent: links != 0, once: forget,
		}, c.replayBytes())
	}
	s.transmit(buffer, class, links, out)
	buffer.Release()
}

// transmit sends a packet over the links.
func (s *sender) transmit(buffer *packet.Buffer, class int, links uint32, out *Output) {
	c := s.core
	for id := 0; links != 0; id, links = id+1, links>>1 {
		if links&1 == 0 {
			continue
		}
		buffer.Retain(1)
		c.links[id].path.Sent(c.now, len(buffer.Data()))
		if c.links[id].count(len(buffer.Data()), 0) {
			c.stale = true
		}
		out.Packets = append(out.Packets, packet.Packet{Link: packet.LinkID(id), Class: class, Buffer: buffer})
	}
}

// floor returns the lowest sequence number that may still be sent.
func (s *sender) floor() uint64 { return s.replay.floor(s.sequence) }

// resendLost sends again what was sent over links that are down.
func (s *sender) resendLost(links uint32) {
	s.replay.lost(links)
	s.hold = 0
}

// copySuspect sends over the other links of their class what was sent over a
// link that became suspect.
func (s *sender) copySuspect() {
	for i := range s.selector.selections {
		sel := &s.selector.selections[i]
		if sel.copyOf == 0 {
			continue
		}
		s.replay.copy(sel.copyOf, sel)
		if sel.waiting > 0 {
			sel.queue, sel.direct = true, sel.copyOf
		}
		sel.copyOf = 0
	}
}

// holdBack keeps what waits from overtaking packets on links that are slower by
// that much.
func (s *sender) holdBack(skew time.Duration) {
	s.hold = max(s.hold, s.now+min(skew, maxHold, s.replayAge()/2))
	s.holdBelow = s.sequence
	if s.config.NoReplay {
		s.holdBelow = math.MaxUint64 // nothing says what has arrived
	}
}

// repairGaps sends again what was lost in gaps too short for a failover.
func (s *sender) repairGaps() {
	for _, l := range s.slots() {
		switch {
		case l == nil || l.repairAt == 0:
		case s.now >= l.repairAt:
			s.replay.repeat(l.bit(), l.repairUpTo)
			l.repairAt = 0
		default:
			s.wake(l.repairAt)
		}
	}
}
