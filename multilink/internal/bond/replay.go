package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// replay keeps packets that the peer has not acknowledged, and those that wait
// for their turn to be sent. It is a ring over the sequence numbers from tail
// up to head.
type replay struct {
	*core
	selector *selector

	ring    []kept // its length is a power of two, and 0 at first
	tail    uint64 // lowest number that may be kept
	head    uint64 // one above the highest
	bytes   int    // of memory
	waiting int    // packets that wait to be sent
	cursor  uint64 // none below it waits
}

// kept is a packet, or an empty slot.
type kept struct {
	buffer *packet.Buffer
	at     time.Duration // when the frame came
	links  uint32        // over which it was sent, and that have not failed since
	flow   uint32
	class  int16
	waits  bool // to be sent
	sent   bool // once at least
	once   bool // and then forgotten
}

const (
	defaultReplayBytes = 8 << 20
	defaultReplayAge   = 500 * time.Millisecond
	minRing            = 1 << 10
	maxRing            = 1 << 15 // half the window of the receiver
)

func (r *replay) at(sequence uint64) *kept { return &r.ring[sequence&uint64(len(r.ring)-1)] }

// floor returns the lowest number that may still be sent, where next is the next
// one to be used.
func (r *replay) floor(next uint64) uint64 {
	if r.tail == r.head {
		return next
	}
	return r.tail
}

// push makes room for the packet with that number, which is above all others,
// and returns its empty slot. Where the ring is as long as may be, the oldest
// packets are evicted.
func (r *replay) push(sequence uint64) *kept {
	if r.tail == r.head {
		r.tail = sequence
		r.head = sequence
		r.cursor = sequence
	}
	for int(sequence+1-r.tail) > len(r.ring) {
		if len(r.ring) < maxRing {
			r.grow()
			continue
		}
		r.evict(r.at(r.tail))
		r.tail++
	}
	r.head, r.cursor = sequence+1, max(r.cursor, r.tail)
	return r.at(sequence)
}

// grow doubles the ring.
func (r *replay) grow() {
	old := *r
	r.ring = make([]kept, max(minRing, 2*len(r.ring)))
	for s := r.tail; s < r.head; s++ {
		*r.at(s) = *old.at(s)
	}
}

// keep keeps the packet with that number, which is above all others, and evicts
// the oldest ones where all take more than limit. It retains the buffer.
func (r *replay) keep(sequence uint64, k kept, limit int) {
	*r.push(sequence) = k
	k.buffer.Retain(1)
	r.bytes += k.buffer.Charge()
	if k.waits {
		r.waiting++
		r.selector.of(int(k.class)).waiting++
	}
	for ; r.bytes > limit && r.tail+1 < r.head; r.tail++ {
		r.evict(r.at(r.tail))
	}
	r.cursor = max(r.cursor, r.tail)
}

// expire evicts what is older than age.
func (r *replay) expire(age time.Duration) {
	for r.tail < r.head {
		k := r.at(r.tail)
		if k.buffer != nil {
			if r.now-k.at <= age {
				break
			}
			r.evict(k)
		}
		r.tail++
	}
	r.cursor = max(r.cursor, r.tail)
}

// evict gives up on a packet, if there is one in the slot.
func (r *replay) evict(k *kept) {
	switch {
	case k.buffer == nil:
		return
	case k.sent && !k.once:
		r.counters.Evicted++
	case !k.sent:
		r.counters.Dropped++
	}
	r.clear(k)
}

// clear empties a slot.
func (r *replay) clear(k *kept) {
	if k.waits {
		r.waiting--
		r.selector.of(int(k.class)).waiting--
	}
	r.bytes -= k.buffer.Charge()
	k.buffer.Release()
	*k = kept{}
}

// acknowledge drops what the peer has: all below next, and the spans.
func (r *replay) acknowledge(next uint64, spans []packet.Span) {
	for ; r.tail < min(next, r.head); r.tail++ {
		if k := r.at(r.tail); k.buffer != nil {
			r.clear(k)
		}
	}
	for _, s := range spans {
		for n := max(s.First, r.tail); n < min(s.Last+1, r.head); n++ {
			if k := r.at(n); k.buffer != nil {
				r.clear(k)
			}
		}
	}
	for ; r.tail < r.head && r.at(r.tail).buffer == nil; r.tail++ {
	}
	r.cursor = max(r.cursor, r.tail)
}

// lost queues the packets again that were sent over the given links only, because
// these have failed.
func (r *replay) lost(links uint32) {
	for s := r.tail; s < r.head; s++ {
		k := r.at(s)
		if k.buffer == nil || k.links&links == 0 {
			continue
		}
		if k.links &^= links; k.links == 0 {
			r.wait(s, k)
		}
	}
}

// repeat queues the packets again that were accepted up to a time and sent over that
// one link only.
func (r *replay) repeat(link uint32, upTo time.Duration) {
	for s := r.tail; s < r.head; s++ {
		k := r.at(s)
		if k.buffer != nil && k.links == link && k.at <= upTo {
			k.links = 0
			r.wait(s, k)
		}
	}
}

// copy queues the packets of a class that were sent over that one link, for the other
// links of the class.
func (r *replay) copy(link uint32, p *selection) {
	for s := r.tail; s < r.head; s++ {
		if k := r.at(s); k.buffer != nil && k.links == link && r.selector.of(int(k.class)) == p {
			r.wait(s, k)
		}
	}
}

// recount counts what waits again, after a change of the classes.
func (r *replay) recount() {
	for s := r.tail; s < r.head; s++ {
		if k := r.at(s); k.buffer != nil && k.waits {
			r.selector.of(int(k.class)).waiting++
		}
	}
	for i := range r.selector.selections {
		r.selector.selections[i].queue = r.selector.selections[i].waiting > 0
		r.selector.selections[i].moved = ^uint64(0)
	}
}

// wait queues a packet.
func (r *replay) wait(sequence uint64, k *kept) {
	if k.waits {
		return
	}
	k.waits = true
	r.waiting++
	r.selector.of(int(k.class)).waiting++
	r.cursor = min(r.cursor, sequence)
}

// forget drops all packets that were sent at least once.
func (r *replay) forget() {
	for s := r.tail; s < r.head; s++ {
		if k := r.at(s); k.buffer != nil && k.sent {
			r.evict(k)
		}
	}
}
