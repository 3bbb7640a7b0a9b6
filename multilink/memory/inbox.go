package memory

import (
	"net/netip"
	"sync"
	"time"
)

// The most that is under way to one tunnel.
const (
	inboxPackets = 1 << 14
	inboxBytes   = 32 << 20
)

// arrival is a packet under way.
type arrival struct {
	at     time.Time
	serial uint64 // keeps the order of those that arrive at the same time
	from   netip.AddrPort
	size   int // on the wire
	packet []byte
}

func (a arrival) before(b arrival) bool {
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.serial < b.serial
}

// inbox holds the packets under way to a tunnel: a heap by time of arrival.
// Buffers of packets are used again.
type inbox struct {
	wake chan struct{} // has one entry after a packet became the next to arrive

	mu     sync.Mutex
	heap   []arrival
	bytes  int
	serial uint64
	closed bool
	free   [][]byte
}

// post copies a packet in. It reports whether there was room.
func (b *inbox) post(at time.Time, from netip.AddrPort, size int, packet []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.heap) == inboxPackets || b.bytes+len(packet) > inboxBytes {
		return false
	}
	var buffer []byte
	if last := len(b.free) - 1; last >= 0 {
		buffer, b.free = b.free[last], b.free[:last]
	}
	b.serial++
	b.bytes += len(packet)
	b.heap = append(b.heap, arrival{at: at, serial: b.serial, from: from, size: size, packet: append(buffer[:0], packet...)})
	if b.up(len(b.heap)-1) == 0 {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// arrived appends what has arrived by now, up to a bound, and says when the
// next packet does, or the zero time.
func (b *inbox) arrived(now time.Time, arrived []arrival) ([]arrival, time.Time) {
	const most = 128
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.heap) > 0 && len(arrived) < most {
		if b.heap[0].at.After(now) {
			return arrived, b.heap[0].at
		}
		arrived = append(arrived, b.heap[0])
		b.bytes -= len(b.heap[0].packet)
		last := len(b.heap) - 1
		b.heap[0] = b.heap[last]
		b.heap[last] = arrival{}
		b.heap = b.heap[:last]
		b.down(0)
	}
	return arrived, time.Time{}
}

// release takes the buffers of arrivals back.
func (b *inbox) release(arrived []arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range arrived {
		if len(b.free) < 1024 {
			b.free = append(b.free, arrived[i].packet)
		}
		arrived[i].packet = nil
	}
}

// close forgets what is under way, and takes no more.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.heap = nil
	b.free = nil
	b.bytes = 0
}

// up moves an arrival to its place, and says where that is.
func (b *inbox) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !b.heap[i].before(b.heap[parent]) {
			break
		}
		b.heap[i], b.heap[parent] = b.heap[parent], b.heap[i]
		i = parent
	}
	return i
}

func (b *inbox) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(b.heap) {
			return
		}
		if right := least + 1; right < len(b.heap) && b.heap[right].before(b.heap[least]) {
			least = right
		}
		if !b.heap[least].before(b.heap[i]) {
			return
		}
		b.heap[i], b.heap[least] = b.heap[least], b.heap[i]
		i = least
	}
}
