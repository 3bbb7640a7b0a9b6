package wg

import (
	"sync"
	"time"
)

// Bounds of what waits.
const (
	controlLimit = 64  // control packets of a tunnel
	dataLimit    = 512 // data packets of a tunnel
	turn         = 32  // data packets of a tunnel before those of the next

	// maxAge is how long a packet may wait for a handshake.
	maxAge = time.Second

	// Of what was handed to WireGuard and has not reached the socket, which is
	// what a control packet must wait for. It narrows while the socket takes
	// nothing, and widens again.
	minWindow   = 64
	maxWindow   = 512
	controlRoom = 256 // beyond the window, for control packets
	// stall is how long nothing may reach the socket before what is under way
	// counts as lost inside WireGuard, as the packets of a removed peer are.
	stall = 10 * time.Millisecond
)

// waiting is a packet that waits to be sent. The send queue owns it from push on.
type waiting struct {
	data []byte
	at   time.Time
	by   *tunnelQueue
}

// queue is a ring of packets of a bounded length.
type ring struct {
	ring  []*waiting
	first int
	count int
	limit int
}

func (q *ring) full() bool { return q.count == q.limit }

func (q *ring) push(p *waiting) {
	if q.count == len(q.ring) {
		grown := make([]*waiting, min(max(2*len(q.ring), 8), q.limit))
		for i := range q.count {
			grown[i] = q.ring[(q.first+i)%len(q.ring)]
		}
		q.ring, q.first = grown, 0
	}
	q.ring[(q.first+q.count)%len(q.ring)] = p
	q.count++
}

func (q *ring) pop() *waiting {
	p := q.ring[q.first]
	q.ring[q.first] = nil
	q.first = (q.first + 1) % len(q.ring)
	q.count--
	return p
}

// tunnelQueue is what waits for one tunnel. The lock of its send queue guards its
// fields.
type tunnelQueue struct {
	source, target address
	control, data  ring
	ready          bool // there are keys
	active         bool // it is in the list of the send queue
	closed         bool
	dropped        uint64
	// space signals that the data queue has room again.
	space chan struct{}
}

// sendQueue is what waits for all tunnels of an underlay. One reader, WireGuard's,
// takes it out: control packets first, then data of each tunnel in turn.
type sendQueue struct {
	mu     sync.Mutex
	active []*tunnelQueue // those that have packets and keys
	closed bool

	under   int // packets under way between here and the socket
	window  int
	busy    int       // calls of the socket that have not returned
	arrived time.Time // when something last reached the socket

	wake chan struct{} // holds one token: the reader must look again
	done chan struct{}
	pool sync.Pool
}

func newSendQueue() *sendQueue {
	return &sendQueue{
		window: maxWindow,
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		pool:   sync.Pool{New: func() any { return new(waiting) }},
	}
}

func newTunnelQueue(source, target address) *tunnelQueue {
	return &tunnelQueue{
		source: source, target: target,
		control: ring{limit: controlLimit}, data: ring{limit: dataLimit},
		space: make(chan struct{}, 1),
	}
}

// take copies a packet.
func (q *sendQueue) take(l *tunnelQueue, packet []byte, now time.Time) *waiting {
	p := q.pool.Get().(*waiting)
	p.data = append(p.data[:0], packet...)
	p.at = now
	p.by = l
	return p
}

func (q *sendQueue) release(p *waiting) {
	p.by = nil
	q.pool.Put(p)
}

// dropLocked counts and releases a packet.
func (q *sendQueue) dropLocked(p *waiting) {
	p.by.dropped++
	q.release(p)
}

// push puts packets into the data queue until it is full, and returns how many
// it took. Without keys nothing would make room, so the oldest are dropped.
func (q *sendQueue) push(l *tunnelQueue, packets []*waiting) (taken int, ready bool) {
	q.mu.Lock()
	for _, p := range packets {
		if l.closed || q.closed {
			q.dropLocked(p)
			taken++
			continue
		}
		if l.data.full() {
			if l.ready {
				break
			}
			q.dropLocked(l.data.pop())
		}
		l.data.push(p)
		taken++
	}
	ready = l.ready
	q.activateLocked(l)
	q.mu.Unlock()
	q.wakeReader()
	return taken, ready
}

// pushControl puts a packet into the control queue. When that is full the
// oldest is dropped: the newest probe is worth the most.
func (q *sendQueue) pushControl(p *waiting) {
	q.mu.Lock()
	l := p.by
	switch {
	case l.closed || q.closed:
		q.dropLocked(p)
	default:
		if l.control.full() {
			q.dropLocked(l.control.pop())
		}
		l.control.push(p)
		q.activateLocked(l)
	}
	q.mu.Unlock()
	q.wakeReader()
}

// dropAll counts and releases packets that found no room.
func (q *sendQueue) dropAll(packets []*waiting) {
	q.mu.Lock()
	for _, p := range packets {
		q.dropLocked(p)
	}
	q.mu.Unlock()
}

// setReady records whether a tunnel has keys.
func (q *sendQueue) setReady(l *tunnelQueue, ready bool) {
	q.mu.Lock()
	changed := l.ready != ready
	l.ready = ready
	q.activateLocked(l)
	q.mu.Unlock()
	if changed && ready {
		q.wakeReader()
	}
}

// activateLocked lists a tunnel that has something to send.
func (q *sendQueue) activateLocked(l *tunnelQueue) {
	if l.ready && !l.active && !l.closed && l.control.count+l.data.count > 0 {
		l.active = true
		q.active = append(q.active, l)
	}
}

// remove drops what waits for a tunnel, and takes no more.
func (q *sendQueue) remove(l *tunnelQueue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.closed, l.ready = true, false
	for l.control.count > 0 {
		q.dropLocked(l.control.pop())
	}
	for l.data.count > 0 {
		q.dropLocked(l.data.pop())
	}
	for i, a := range q.active {
		if a == l {
			q.active = append(q.active[:i], q.active[i+1:]...)
			break
		}
	}
	signal(l.space)
}

// droppedBy returns how many packets of a tunnel were dropped.
func (q *sendQueue) droppedBy(l *tunnelQueue) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.dropped
}

// pull takes out up to len(out) packets, in the order in which they are to be
// sent. Zero with held means that data waits for packets under way.
func (q *sendQueue) pull(out []*waiting, now time.Time) (n int, held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.under >= q.window && q.busy == 0 && now.Sub(q.arrived) >= stall {
		q.under = 0
	}
	room := min(len(out), q.window+controlRoom-q.under)
	for _, l := range q.active {
		for n < room && l.ready && l.control.count > 0 {
			if out[n] = q.takeLocked(&l.control, now); out[n] != nil {
				n++
			}
		}
	}
	room = min(len(out), n+q.window-q.under)
	idle := 0
	for n < room && idle < len(q.active) {
		l := q.active[0]
		q.active = append(q.active[:0], q.active[1:]...)
		q.active = append(q.active, l)
		took := 0
		for n < room && took < turn && l.ready && l.data.count > 0 {
			if out[n] = q.takeLocked(&l.data, now); out[n] != nil {
				n++
				took++
			}
		}
		if took == 0 {
			idle++
			continue
		}
		idle = 0
		signal(l.space)
	}
	kept := q.active[:0]
	for _, l := range q.active {
		if l.ready && l.control.count+l.data.count > 0 {
			kept = append(kept, l)
			continue
		}
		l.active = false
	}
	clear(q.active[len(kept):])
	q.active = kept
	if q.under == 0 && n > 0 {
		q.arrived = now
	}
	q.under += n
	return n, len(q.active) > 0
}

// takeLocked takes the first packet out of a queue, or nil when it waited too long.
func (ls *sendQueue) takeLocked(q *ring, now time.Time) *waiting {
	p := q.pop()
	if now.Sub(p.at) > maxAge {
		ls.dropLocked(p)
		return nil
	}
	return p
}

// begin and end enclose a call of the socket with n packets that pull gave out.
func (q *sendQueue) begin() {
	q.mu.Lock()
	q.busy++
	q.mu.Unlock()
}

// end says in what way the socket took them: stuck when it had to be waited for.
func (q *sendQueue) end(n int, stuck bool, now time.Time) {
	q.mu.Lock()
	q.busy--
	q.under = max(0, q.under-n)
	q.arrived = now
	if stuck {
		q.window = max(minWindow, q.window/2)
	} else if q.window < maxWindow {
		q.window = min(maxWindow, q.window+8)
	}
	held := len(q.active) > 0
	q.mu.Unlock()
	if held {
		q.wakeReader()
	}
}

// next waits until there is something to send and returns it, 0 when the
// queue is closed.
func (q *sendQueue) next(out []*waiting) int {
	var timer *time.Timer
	for {
		select {
		case <-q.done:
			return 0
		default:
		}
		n, held := q.pull(out, time.Now())
		if n > 0 {
			return n
		}
		if !held {
			select {
			case <-q.wake:
			case <-q.done:
			}
			continue
		}
		if timer == nil {
			timer = time.NewTimer(stall)
			defer timer.Stop()
		} else {
			timer.Reset(stall)
		}
		select {
		case <-q.wake:
		case <-q.done:
		case <-timer.C:
		}
	}
}

func (q *sendQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.done)
	}
}

func (q *sendQueue) wakeReader() { signal(q.wake) }

// signal leaves a token in c unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
