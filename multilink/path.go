package multilink

import (
	"errors"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/internal/scheduler"
	"github.com/iotenablers/enablers/multilink/settings"
)

const (
	// pathBatch is how many packets a path passes to its tunnel at once.
	pathBatch = 128
	// pathRoom is how many bytes may wait on a path before the port's reader
	// pauses. A scheduler holds more than that before it drops.
	pathRoom = 512 << 10
)

// path is the way to one peer over one link: a queue, a tunnel, and the goroutine
// that empties the one into the other.
type path struct {
	link   packet.LinkID
	config PeerLink
	tunnel Tunnel
	// failed is called, without locks, when the tunnel reports that the link is down.
	failed func(packet.LinkID, error)

	mu    sync.Mutex
	queue *scheduler.Scheduler

	wake chan struct{} // a packet was pushed; has room for one
	room chan struct{} // packets have left; has room for one
	stop chan struct{}
	done chan struct{}
}

func newPath(link packet.LinkID, config PeerLink, queue *scheduler.Scheduler, failed func(packet.LinkID, error)) *path {
	return &path{
		link: link, config: config, queue: queue, failed: failed,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// push queues a packet and reports whether the path is full.
func (p *path) push(now time.Time, next packet.Packet) (full bool) {
	p.mu.Lock()
	p.queue.Push(now, next)
	full = p.queue.Bytes() > pathRoom
	p.mu.Unlock()
	return full
}

// configure gives the queue its classes and rate.
func (p *path) configure(classes []settings.Class, rate uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Configure(classes, rate)
}

// run empties the queue until close.
func (p *path) run() {
	defer close(p.done)
	var (
		packets = make([]packet.Packet, 0, pathBatch)
		bytes   = make([][]byte, 0, pathBatch)
		timer   = time.NewTimer(time.Hour)
	)
	defer timer.Stop()
	for {
		now := time.Now()
		p.mu.Lock()
		packets = p.queue.Pop(now, pathBatch, packets[:0])
		next := p.queue.Next(now)
		p.mu.Unlock()
		if len(packets) == 0 {
			var due <-chan time.Time
			if !next.IsZero() {
				timer.Reset(max(soonest, next.Sub(now)))
				due = timer.C
			}
			select {
			case <-p.stop:
				return
			case <-p.wake:
			case <-due:
			}
			continue
		}
		signal(p.room)
		bytes = bytes[:0]
		for _, next := range packets {
			bytes = append(bytes, next.Data())
		}
		err := p.tunnel.Send(bytes)
		for i := range packets {
			packets[i].Buffer.Release()
			packets[i] = packet.Packet{}
		}
		switch {
		case errors.Is(err, ErrClosed):
			return
		case err != nil:
			p.failed(p.link, err)
		}
	}
}

// wait blocks until packets have left the queue, the path is closed, or the bound
// has passed.
func (p *path) wait(bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		p.mu.Lock()
		full := p.queue.Bytes() > pathRoom
		p.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-p.room:
		case <-p.stop:
			return
		case <-timer.C:
			return
		}
	}
}

// close ends the goroutine and the tunnel, and drops what waited.
func (p *path) close() error {
	close(p.stop)
	err := p.tunnel.Close()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Drain()
	return err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
