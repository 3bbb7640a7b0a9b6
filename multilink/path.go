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
	// laneBatch is how many packets a lane hands to its tunnel at once.
	pathBatch = 128
	// laneRoom is how many bytes may wait in a lane before the port's reader
	// is asked to pause. A scheduler takes more than that before it drops.
	pathRoom = 512 << 10
)

// lane is one peer's way over one link: a queue, a tunnel, and the goroutine
// that empties the one into the other.
type path struct {
	link   packet.LinkID
	config PeerLink
	tunnel Tunnel
	// failed is called, without locks, when the tunnel says that the link is down.
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

// push queues a packet and reports whether the lane wants a pause.
func (l *path) push(now time.Time, p packet.Packet) (full bool) {
	l.mu.Lock()
	l.queue.Push(now, p)
	full = l.queue.Bytes() > pathRoom
	l.mu.Unlock()
	return full
}

// configure gives the queue its classes and rate.
func (l *path) configure(classes []settings.Class, rate uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.Configure(classes, rate)
}

// run empties the queue until close.
func (l *path) run() {
	defer close(l.done)
	var (
		packets = make([]packet.Packet, 0, pathBatch)
		bytes   = make([][]byte, 0, pathBatch)
		timer   = time.NewTimer(time.Hour)
	)
	defer timer.Stop()
	for {
		now := time.Now()
		l.mu.Lock()
		packets = l.queue.Pop(now, pathBatch, packets[:0])
		next := l.queue.Next(now)
		l.mu.Unlock()
		if len(packets) == 0 {
			var due <-chan time.Time
			if !next.IsZero() {
				timer.Reset(max(soonest, next.Sub(now)))
				due = timer.C
			}
			select {
			case <-l.stop:
				return
			case <-l.wake:
			case <-due:
			}
			continue
		}
		signal(l.room)
		bytes = bytes[:0]
		for _, p := range packets {
			bytes = append(bytes, p.Data())
		}
		err := l.tunnel.Send(bytes)
		for i := range packets {
			packets[i].Buffer.Release()
			packets[i] = packet.Packet{}
		}
		switch {
		case errors.Is(err, ErrClosed):
			return
		case err != nil:
			l.failed(l.link, err)
		}
	}
}

// wait pauses until packets have left the queue, the lane ends, or the bound
// has passed.
func (l *path) wait(bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		l.mu.Lock()
		full := l.queue.Bytes() > pathRoom
		l.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-l.room:
		case <-l.stop:
			return
		case <-timer.C:
			return
		}
	}
}

// close ends the goroutine and the tunnel, and lets go of what waited.
func (l *path) close() error {
	close(l.stop)
	err := l.tunnel.Close()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.Drain()
	return err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
