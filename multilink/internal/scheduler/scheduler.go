package scheduler

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Scheduler is the queue of one link. It decides which of the packets that
// wait goes next:
//
//   - probes first;
//   - then packets of Control classes, which may fill a tenth of the room, and
//     let another packet pass after every 16 KiB;
//   - then the other classes by deficit round robin (Shreedhar and Varghese,
//     1995): while they have packets waiting, each has a share of the link's
//     bytes that is proportional to its weight.
//
// What waited for longer than its class allows is dropped, and what finds no
// room has the longest queue lose its oldest packet. It is a pure machine: time
// is an argument. It is not safe for use by several goroutines.
type Scheduler struct {
	probes  packetQueue
	queues  []packetQueue // one for each class, then that of packets without
	round   []int         // queues with packets that are not Control's, in turn
	turn    int           // place of the next one in round
	waiting int           // of round
	control int           // bytes of Control since another packet went

	bytes, packets int // of all queues but the probes'
	controlBytes   int

	now    time.Time
	rate   float64 // bytes per second, 0 for no cap
	tokens float64 // bytes that may go at once; negative while they are owed
	stats  Stats
}

// Stats are the figures of a Scheduler since it was created.
type Stats struct {
	// Packets and Bytes that wait.
	Packets, Bytes int
	// Dropped packets found no room, Expired ones waited for too long.
	Dropped, Expired uint64
}

const (
	maxQueueBytes   = 4 << 20
	maxQueuePackets = 8192
	maxProbes       = 64
	defaultMaxDelay = time.Second
	controlShare    = 10                   // Control classes have one part in so many
	controlRun      = 16 << 10             // bytes of Control before another packet goes
	roundBytes      = 32 << 10             // that the greatest weight gains in a round, at most
	maxQuantum      = 1514                 // bytes in a round for a weight of 1, at most
	wireOverhead    = 60                   // bytes of IPv4, UDP and WireGuard, for the sake of the cap
	burst           = 5 * time.Millisecond // what may go at once after a pause, and at least
	minBurst        = 3000.0               // that many bytes
)

// New creates the queue of a link, for packets of those classes. rate
// caps what leaves, in bits per second; zero means no cap. A queue holds 4 MiB and
// 8,192 packets.
func New(classes []settings.Class, rate uint64) *Scheduler {
	s := &Scheduler{}
	s.Configure(classes, rate)
	return s
}

// Configure changes the settings. Packets that wait stay in the queue of the
// class of the same name, or of those without a class where there is none.
func (s *Scheduler) Configure(classes []settings.Class, rate uint64) {
	greatest := 1
	for _, class := range classes {
		greatest = max(greatest, class.Weight)
	}
	unit := min(max(roundBytes/greatest, 1), maxQuantum)
	old := s.queues
	s.queues = make([]packetQueue, len(classes)+1)
	for i, class := range classes {
		s.queues[i] = packetQueue{
			name:     class.Name,
			maxDelay: class.MaxDelay,
			quantum:  unit * max(class.Weight, 1),
			control:  class.Control,
		}
		if class.MaxDelay <= 0 {
			s.queues[i].maxDelay = defaultMaxDelay
		}
	}
	s.queues[len(classes)] = packetQueue{maxDelay: defaultMaxDelay, quantum: unit}
	if rate := float64(rate) / 8; rate != s.rate {
		s.rate, s.tokens = rate, 0
	}
	s.round = make([]int, len(s.queues))
	s.turn = 0
	s.waiting = 0
	s.bytes = 0
	s.packets = 0
	s.controlBytes = 0
	for i := range old {
		s.adopt(&old[i])
	}
}

// adopt takes over what waits in a queue of the settings before.
func (s *Scheduler) adopt(old *packetQueue) {
	to := len(s.queues) - 1
	for i := range s.queues[:to] {
		if s.queues[i].name == old.name {
			to = i
		}
	}
	for old.count > 0 {
		w := old.take()
		w.packet.Class = s.queueClass(to)
		s.enqueue(w, to)
	}
}

// queueClass returns the Class of packets in a queue.
func (s *Scheduler) queueClass(queue int) int {
	if queue == len(s.queues)-1 {
		return -1
	}
	return queue
}

// Push takes a packet over: its buffer is released when it is dropped. Packets
// of a class that there is not have that of packets without one.
func (s *Scheduler) Push(now time.Time, p packet.Packet) {
	s.advance(now)
	w := waitingPacket{packet: p, since: now, size: len(p.Data())}
	if p.Control {
		if s.probes.count == maxProbes {
			s.probes.drop() // the newest one is worth most
			s.stats.Dropped++
		}
		s.probes.put(w)
		return
	}
	class := p.Class
	if class < 0 || class >= len(s.queues)-1 {
		class = len(s.queues) - 1
	}
	s.enqueue(w, class)
}

func (s *Scheduler) enqueue(w waitingPacket, class int) {
	q := &s.queues[class]
	if (q.control && s.controlBytes+w.size > maxQueueBytes/controlShare) || w.size > maxQueueBytes {
		s.stats.Dropped++
		w.packet.Buffer.Release()
		return
	}
	q.put(w)
	s.bytes += w.size
	s.packets++
	if q.control {
		s.controlBytes += w.size
	} else if !q.listed {
		q.listed, q.deficit = true, q.quantum
		s.round[(s.turn+s.waiting)%len(s.round)] = class
		s.waiting++
	}
	for s.bytes > maxQueueBytes || s.packets > maxQueuePackets {
		longest := &s.queues[0]
		for i := range s.queues {
			if s.queues[i].bytes > longest.bytes {
				longest = &s.queues[i]
			}
		}
		s.leave(longest, longest.drop())
		s.stats.Dropped++
	}
}

// Pop appends up to max packets that go now, in their order. The caller
// releases their buffers.
func (s *Scheduler) Pop(now time.Time, max int, into []packet.Packet) []packet.Packet {
	s.advance(now)
	for ; max > 0 && s.probes.count > 0; max-- {
		into = append(into, s.spend(s.probes.take()))
	}
	for ; max > 0 && (s.rate == 0 || s.tokens > 0); max-- {
		w, ok := s.choose(now)
		if !ok {
			break
		}
		into = append(into, s.spend(w))
	}
	return into
}

// spend notes that a packet goes. A cap does not hold probes back, but what
// follows them.
func (s *Scheduler) spend(w waitingPacket) packet.Packet {
	if s.rate > 0 {
		s.tokens -= float64(w.size + wireOverhead)
	}
	return w.packet
}

// choose takes the packet that goes next.
func (s *Scheduler) choose(now time.Time) (waitingPacket, bool) {
	if s.controlBytes > 0 && (s.control < controlRun || s.waiting == 0) {
		for i := range s.queues {
			q := &s.queues[i]
			if !q.control {
				continue
			}
			if s.expire(now, q); q.count > 0 {
				w := s.take(q)
				s.control += w.size
				return w, true
			}
		}
	}
	s.control = 0
	for s.waiting > 0 {
		q := &s.queues[s.round[s.turn]]
		s.expire(now, q)
		switch {
		case q.count == 0:
			q.listed = false
			s.turn = (s.turn + 1) % len(s.round)
			s.waiting--
		case q.deficit >= q.head().size:
			w := s.take(q)
			q.deficit -= w.size
			return w, true
		default:
			q.deficit += q.quantum
			class := s.round[s.turn]
			s.turn = (s.turn + 1) % len(s.round)
			s.round[(s.turn+s.waiting-1)%len(s.round)] = class
		}
	}
	if s.controlBytes > 0 {
		return s.choose(now) // those that waited had expired
	}
	return waitingPacket{}, false
}

// Next returns when Pop has something: now, later where the cap holds it back, or
// the zero time where nothing waits.
func (s *Scheduler) Next(now time.Time) time.Time {
	s.advance(now)
	switch {
	case s.probes.count == 0 && s.packets == 0:
		return time.Time{}
	case s.probes.count > 0 || s.rate == 0 || s.tokens > 0:
		return now
	}
	return now.Add(time.Duration(-s.tokens/s.rate*float64(time.Second)) + 1)
}

// Stats returns the figures up to now.
func (s *Scheduler) Stats() Stats {
	stats := s.stats
	stats.Packets, stats.Bytes = s.packets+s.probes.count, s.bytes+s.probes.bytes
	return stats
}

// Bytes that wait.
func (s *Scheduler) Bytes() int { return s.bytes + s.probes.bytes }

// Drain drops everything that waits, and says how many packets those were.
func (s *Scheduler) Drain() int {
	cleared := s.packets + s.probes.count
	for s.probes.count > 0 {
		s.probes.drop()
	}
	for i := range s.queues {
		for s.queues[i].count > 0 {
			s.queues[i].drop()
		}
		s.queues[i].listed = false
	}
	s.bytes = 0
	s.packets = 0
	s.controlBytes = 0
	s.waiting = 0
	s.stats.Dropped += uint64(cleared)
	return cleared
}

// advance fills the bucket.
func (s *Scheduler) advance(now time.Time) {
	if !now.After(s.now) {
		return
	}
	if s.rate > 0 {
		full := max(s.rate*burst.Seconds(), minBurst)
		if s.now.IsZero() {
			s.tokens = full
		} else {
			s.tokens = min(full, s.tokens+s.rate*now.Sub(s.now).Seconds())
		}
	}
	s.now = now
}

// expire drops what waited for too long at the head of a queue.
func (s *Scheduler) expire(now time.Time, q *packetQueue) {
	for q.count > 0 && now.Sub(q.head().since) > q.maxDelay {
		s.leave(q, q.drop())
		s.stats.Expired++
	}
}

func (s *Scheduler) take(q *packetQueue) waitingPacket {
	w := q.take()
	s.leave(q, w.size)
	return w
}

// leave accounts for a packet that left a queue.
func (s *Scheduler) leave(q *packetQueue, size int) {
	s.bytes -= size
	s.packets--
	if q.control {
		s.controlBytes -= size
	}
}
