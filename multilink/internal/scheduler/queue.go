package scheduler

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// waitingPacket is a packet in a queue of a Scheduler.
type waitingPacket struct {
	packet packet.Packet
	since  time.Time
	size   int
}

// packetQueue is the queue of one class: a ring that grows to the most that
// ever waited.
type packetQueue struct {
	name     string
	maxDelay time.Duration
	quantum  int // bytes that it gains with every round
	control  bool

	deficit int  // bytes that it may still send in this round
	listed  bool // in the round
	ring    []waitingPacket
	first   int
	count   int
	bytes   int
}

func (q *packetQueue) head() *waitingPacket { return &q.ring[q.first] }

func (q *packetQueue) put(w waitingPacket) {
	if q.count == len(q.ring) {
		grown := make([]waitingPacket, max(2*len(q.ring), 16))
		n := copy(grown, q.ring[q.first:])
		copy(grown[n:], q.ring[:q.first])
		q.ring, q.first = grown, 0
	}
	q.ring[(q.first+q.count)%len(q.ring)] = w
	q.count++
	q.bytes += w.size
}

func (q *packetQueue) take() waitingPacket {
	w := q.ring[q.first]
	q.ring[q.first] = waitingPacket{}
	q.first = (q.first + 1) % len(q.ring)
	q.count--
	q.bytes -= w.size
	return w
}

// drop loses the oldest packet, and returns its size.
func (q *packetQueue) drop() int {
	w := q.take()
	w.packet.Buffer.Release()
	return w.size
}
