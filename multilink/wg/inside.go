package wg

import (
	"os"
	"sync"

	"golang.zx2c4.com/wireguard/tun"
)

// inside is WireGuard's device towards us: where a kernel's interface would
// stand it reads from the send queue, and writes to the tunnels.
type inside struct {
	queue   *sendQueue
	inflow  *inflow
	deliver func(inner [][]byte, offset int)
	mtu     func() int
	events  chan tun.Event
	once    sync.Once
	batch   []*waiting // of the one reader
}

var _ tun.Device = (*inside)(nil)

func newInside(ls *sendQueue, in *inflow, mtu func() int, deliver func([][]byte, int)) *inside {
	return &inside{
		queue: ls, inflow: in, deliver: deliver, mtu: mtu,
		events: make(chan tun.Event, 1), batch: make([]*waiting, batch),
	}
}

// Read waits for packets to send.
func (in *inside) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	n := in.queue.next(in.batch[:min(len(bufs), batch)])
	if n == 0 {
		return 0, os.ErrClosed
	}
	for i, p := range in.batch[:n] {
		sizes[i] = hide(bufs[i][offset:], p.data, p.by.source, p.by.target)
		in.queue.release(p)
		in.batch[i] = nil
	}
	return n, nil
}

// Write delivers packets that were received, all of the same peer.
func (in *inside) Write(bufs [][]byte, offset int) (int, error) {
	in.inflow.busy.Add(1)
	in.deliver(bufs, offset)
	in.inflow.busy.Add(-1)
	in.inflow.leave(len(bufs))
	return len(bufs), nil
}

// Close ends Read. A second Close returns nil.
func (in *inside) Close() error {
	in.once.Do(func() {
		in.queue.close()
		close(in.events)
	})
	return nil
}

func (in *inside) File() *os.File           { return nil }
func (in *inside) MTU() (int, error)        { return in.mtu(), nil }
func (in *inside) Name() (string, error)    { return "multilink", nil }
func (in *inside) Events() <-chan tun.Event { return in.events }
func (in *inside) BatchSize() int           { return batch }
