package wg

import (
	"sync"
	"time"
)

// Bounds of what waits.
const (
	controlLimit = 64  // control packets of a tunnel
	dataLimit    = 512 // data packets of a tunnel
	turn         = 32  // data packets of a tunnel before the next one's turn

	// maxAge is how long a packet may wait for a session.
	maxAge = time.Second

	// Of what was handed to WireGuard and has not reached the socket, which is
	// what a control packet has to wait for. It narrows while the socket takes
	// nothing, and widens again.
	minWindow   = 64
	maxWindow   = 512
	controlRoom = 256 // beyond the window, for control packets
	// stall is how long nothing may reach the socket before what is under way
	// counts as lost inside WireGuard, as the packets of a removed peer are.
	stall = 10 * time.Millisecond
)

// waiting is a packet that waits to be sent. The lanes own it from push on.
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

// lane is what waits for one tunnel. Its fields are guarded by the lock of the
// lanes it belongs to.
type tunnelQueue struct {
	source, target address
	control, data  ring
	ready          bool // there is a session
	active         bool // it stands in the lanes' list
	closed         bool
	dropped        uint64
	// space tells one who waits that the data lane has room again.
	space chan struct{}
}

// lanes are what waits for all tunnels of an underlay. One reader, WireGuard's,
// takes it out: control packets first, then data of each tunnel in turn.
type sendQueue struct {
	mu     sync.Mutex
	active []*tunnelQueue // those that have packets and a session
	closed bool

	under   int // packets under way between here and the socket
	window  int
	busy    int       // calls of the socket that have not returned
	arrived time.Time // when something last reached the socket

	wake chan struct{} // holds one token: the reader has to look again
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
func (ls *sendQueue) take(l *tunnelQueue, packet []byte, now time.Time) *waiting {
	p := ls.pool.Get().(*waiting)
	p.data, p.at, p.by = append(p.data[:0], packet...), now, l
	return p
}

func (ls *sendQueue) release(p *waiting) {
	p.by = nil
	ls.pool.Put(p)
}

// drop counts and releases a packet. The caller holds the lock.
func (ls *sendQueue) dropLocked(p *waiting) {
	p.by.dropped++
	ls.release(p)
}

// push puts packets into the data lane until it is full, and returns how many
// it took. Without a session nothing would make room, so the oldest go.
func (ls *sendQueue) push(l *tunnelQueue, packets []*waiting) (taken int, ready bool) {
	ls.mu.Lock()
	for _, p := range packets {
		if l.closed || ls.closed {
			ls.dropLocked(p)
			taken++
			continue
		}
		if l.data.full() {
			if l.ready {
				break
			}
			ls.dropLocked(l.data.pop())
		}
		l.data.push(p)
		taken++
	}
	ready = l.ready
	ls.activateLocked(l)
	ls.mu.Unlock()
	ls.wakeReader()
	return taken, ready
}

// pushControl puts a packet into the control lane. When that is full the oldest
// goes: the newest word of a probe is worth the most.
func (ls *sendQueue) pushControl(p *waiting) {
	ls.mu.Lock()
	l := p.by
	switch {
	case l.closed || ls.closed:
		ls.dropLocked(p)
	default:
		if l.control.full() {
			ls.dropLocked(l.control.pop())
		}
		l.control.push(p)
		ls.activateLocked(l)
	}
	ls.mu.Unlock()
	ls.wakeReader()
}

// giveUp counts and releases packets that found no room.
func (ls *sendQueue) dropAll(packets []*waiting) {
	ls.mu.Lock()
	for _, p := range packets {
		ls.dropLocked(p)
	}
	ls.mu.Unlock()
}

// setReady says whether a tunnel has a session.
func (ls *sendQueue) setReady(l *tunnelQueue, ready bool) {
	ls.mu.Lock()
	changed := l.ready != ready
	l.ready = ready
	ls.activateLocked(l)
	ls.mu.Unlock()
	if changed && ready {
		ls.wakeReader()
	}
}

// activate lists a lane that has something to send. The caller holds the lock.
func (ls *sendQueue) activateLocked(l *tunnelQueue) {
	if l.ready && !l.active && !l.closed && l.control.count+l.data.count > 0 {
		l.active = true
		ls.active = append(ls.active, l)
	}
}

// remove empties a lane for good.
func (ls *sendQueue) remove(l *tunnelQueue) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.closed, l.ready = true, false
	for l.control.count > 0 {
		ls.dropLocked(l.control.pop())
	}
	for l.data.count > 0 {
		ls.dropLocked(l.data.pop())
	}
	for i, a := range ls.active {
		if a == l {
			ls.active = append(ls.active[:i], ls.active[i+1:]...)
			break
		}
	}
	signal(l.space)
}

// droppedBy is how many packets of a lane were dropped.
func (ls *sendQueue) droppedBy(l *tunnelQueue) uint64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return l.dropped
}

// pull takes out up to len(out) packets, in the order in which they are to be
// sent. Zero with held means that data waits for packets under way.
func (ls *sendQueue) pull(out []*waiting, now time.Time) (n int, held bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.under >= ls.window && ls.busy == 0 && now.Sub(ls.arrived) >= stall {
		ls.under = 0
	}
	room := min(len(out), ls.window+controlRoom-ls.under)
	for _, l := range ls.active {
		for n < room && l.ready && l.control.count > 0 {
			if out[n] = ls.takeLocked(&l.control, now); out[n] != nil {
				n++
			}
		}
	}
	room = min(len(out), n+ls.window-ls.under)
	idle := 0
	for n < room && idle < len(ls.active) {
		l := ls.active[0]
		ls.active = append(ls.active[:0], ls.active[1:]...)
		ls.active = append(ls.active, l)
		took := 0
		for n < room && took < turn && l.ready && l.data.count > 0 {
			if out[n] = ls.takeLocked(&l.data, now); out[n] != nil {
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
	kept := ls.active[:0]
	for _, l := range ls.active {
		if l.ready && l.control.count+l.data.count > 0 {
			kept = append(kept, l)
			continue
		}
		l.active = false
	}
	clear(ls.active[len(kept):])
	ls.active = kept
	if ls.under == 0 && n > 0 {
		ls.arrived = now
	}
	ls.under += n
	return n, len(ls.active) > 0
}

// fresh takes the first packet out of a queue, or nil when it waited too long.
func (ls *sendQueue) takeLocked(q *ring, now time.Time) *waiting {
	p := q.pop()
	if now.Sub(p.at) > maxAge {
		ls.dropLocked(p)
		return nil
	}
	return p
}

// begin and end enclose a call of the socket with n packets that pull gave out.
func (ls *sendQueue) begin() {
	ls.mu.Lock()
	ls.busy++
	ls.mu.Unlock()
}

// end says in what way the socket took them: stuck when it had to be waited for.
func (ls *sendQueue) end(n int, stuck bool, now time.Time) {
	ls.mu.Lock()
	ls.busy--
	ls.under = max(0, ls.under-n)
	ls.arrived = now
	if stuck {
		ls.window = max(minWindow, ls.window/2)
	} else if ls.window < maxWindow {
		ls.window = min(maxWindow, ls.window+8)
	}
	held := len(ls.active) > 0
	ls.mu.Unlock()
	if held {
		ls.wakeReader()
	}
}

// next waits until there is something to send and returns it, 0 when the lanes
// are closed.
func (ls *sendQueue) next(out []*waiting) int {
	var timer *time.Timer
	for {
		select {
		case <-ls.done:
			return 0
		default:
		}
		n, held := ls.pull(out, time.Now())
		if n > 0 {
			return n
		}
		if !held {
			select {
			case <-ls.wake:
			case <-ls.done:
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
		case <-ls.wake:
		case <-ls.done:
		case <-timer.C:
		}
	}
}

func (ls *sendQueue) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.closed {
		ls.closed = true
		close(ls.done)
	}
}

func (ls *sendQueue) wakeReader() { signal(ls.wake) }

// signal leaves a token in c unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
