package wg

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
)

// maxInflow bounds the packets that WireGuard holds between the sockets and the
// receivers. By itself it would hold a hundred thousand, in buffers of 64 KiB.
const maxInflow = 1024

// inflow counts the packets that WireGuard was given and has not delivered.
type inflow struct {
	pending atomic.Int64
	busy    atomic.Int64 // receivers at work
	room    chan struct{}
}

func newInflow() *inflow { return &inflow{room: make(chan struct{}, 1)} }

// enter counts packets that WireGuard took, and waits while it holds too many.
// Packets that it threw away are never delivered: when no receiver is at work
// and still nothing moves, those pending are lost.
func (f *inflow) enter(n int) {
	if f.pending.Add(int64(n)) < maxInflow {
		return
	}
	timer := time.NewTimer(stall)
	defer timer.Stop()
	for before := f.pending.Load(); before >= maxInflow; {
		select {
		case <-f.room:
		case <-timer.C:
			if f.busy.Load() == 0 && f.pending.CompareAndSwap(before, 0) {
				return
			}
			timer.Reset(stall)
		}
		before = f.pending.Load()
	}
}

// leave counts packets that were delivered.
func (f *inflow) leave(n int) {
	if left := f.pending.Add(-int64(n)); left < 0 {
		f.pending.CompareAndSwap(left, 0)
	} else if left < maxInflow && left+int64(n) >= maxInflow {
		signal(f.room)
	}
}

// tally finds out which datagrams of a socket WireGuard took: it has another
// buffer in the place of each.
type tally struct {
	given [batch]*byte
	count int
}

// taken returns how many of the datagrams that were noted last were taken.
func (t *tally) taken(bufs [][]byte) int {
	n := 0
	for i := range min(t.count, len(bufs)) {
		if t.given[i] != nil && t.given[i] != unsafe.SliceData(bufs[i]) {
			n++
		}
		t.given[i] = nil
	}
	t.count = 0
	return n
}

// note remembers the packets among datagrams.
func (t *tally) note(bufs [][]byte, sizes []int) {
	t.count = min(len(sizes), batch)
	for i := range t.count {
		if sizes[i] > device.MessageKeepaliveSize && messageType(bufs[i][:sizes[i]]) == device.MessageTransportType {
			t.given[i] = unsafe.SliceData(bufs[i])
		}
	}
}

// receiver returns the function by which WireGuard receives from a socket.
func (b *bind) receiver(s socket) conn.ReceiveFunc {
	var t tally
	return func(bufs [][]byte, sizes []int, from []conn.Endpoint) (int, error) {
		b.inflow.enter(t.taken(bufs))
		n, err := s.receive(bufs, sizes, from)
		for i := range n {
			if beginsSession(bufs[i][:sizes[i]]) {
				b.hint()
				break
			}
		}
		t.note(bufs, sizes[:n])
		return n, err
	}
}
