//go:build linux

package kernel

import (
	"fmt"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink/status"
)

// newsBuffer is the size of the buffer for the kernel's messages, in bytes.
const newsBuffer = 1 << 20

// newsPause is how long to wait before subscribing to the kernel's messages again.
const newsPause = time.Second

// watcher follows the interfaces of the links: their carrier and their routes.
type watcher struct {
	plane *Plane
	done  chan struct{}
	loop  sync.WaitGroup
}

// news are the kernel's messages until end is closed or the buffer overflows.
type news struct {
	links  chan netlink.LinkUpdate
	routes chan netlink.RouteUpdate
	end    chan struct{}
}

func watchHost(p *Plane) (*watcher, error) {
	w := &watcher{plane: p, done: make(chan struct{})}
	n, err := w.subscribe()
	if err != nil {
		return nil, err
	}
	w.loop.Go(func() { w.follow(n) })
	return w, nil
}

func (w *watcher) close() {
	close(w.done)
	w.loop.Wait()
}

func (w *watcher) subscribe() (*news, error) {
	n := &news{links: make(chan netlink.LinkUpdate, 64), routes: make(chan netlink.RouteUpdate, 64), end: make(chan struct{})}
	ended := func(err error) { w.plane.log.Debug("reading the kernel's messages", "error", err) }
	if err := netlink.LinkSubscribeWithOptions(n.links, n.end,
		netlink.LinkSubscribeOptions{ErrorCallback: ended, ReceiveBufferSize: newsBuffer}); err != nil {
		return nil, fmt.Errorf("follow the interfaces: %w", explain(err))
	}
	if err := netlink.RouteSubscribeWithOptions(n.routes, n.end,
		netlink.RouteSubscribeOptions{ErrorCallback: ended, ReceiveBufferSize: newsBuffer}); err != nil {
		close(n.end)
		for range n.links {
			continue // until it ends
		}
		return nil, fmt.Errorf("follow the routes: %w", explain(err))
	}
	return n, nil
}

// follow reads the messages, and subscribes again when they end.
func (w *watcher) follow(n *news) {
	for {
		ours := w.take(n)
		close(n.end)
		for range n.links {
			continue
		}
		for range n.routes {
			continue
		}
		if ours {
			return
		}
		for n = nil; n == nil; {
			select {
			case <-w.done:
				return
			case <-time.After(newsPause):
			}
			var err error
			if n, err = w.subscribe(); err != nil {
				w.plane.log.Error("the interfaces are not followed; it is tried again", "error", err)
			}
		}
		w.plane.rebind(0)
	}
}

// take reads messages until there are no more, and reports whether the watcher was
// closed.
func (w *watcher) take(n *news) bool {
	for {
		select {
		case <-w.done:
			return true
		case update, open := <-n.links:
			if !open {
				return false
			}
			w.plane.carrier(update)
		case update, open := <-n.routes:
			if !open {
				return false
			}
			if update.Table == unix.RT_TABLE_MAIN {
				w.plane.rebind(update.LinkIndex)
			}
		}
	}
}

// carrier takes a link out of use when its interface says that it is down,
// which is faster than silence.
func (p *Plane) carrier(update netlink.LinkUpdate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := update.Header.Type != unix.RTM_DELLINK && update.IfInfomsg.Flags&unix.IFF_RUNNING != 0
	for _, to := range p.peers {
		for _, one := range to.paths {
			if running || one.link.config.InterfaceName() != update.Link.Attrs().Name || one.watch.state == status.Down {
				continue
			}
			one.watch.heard = false
			one.watch.fail(p.now(), "the interface has no carrier")
			p.changedLocked(to, one)
		}
	}
}

// rebind makes the table of a link follow the routes of its interface: of the one
// with the index, or of all for 0.
func (p *Plane) rebind(index int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		device, err := p.host.links.LinkByName(l.config.InterfaceName())
		if index != 0 && (err != nil || device.Attrs().Index != index) {
			continue
		}
		if err := p.host.bind(l.mark, l.config.InterfaceName()); err != nil {
			p.log.Error("the routes of a link are not followed", "link", l.config.Name, "error", err)
		}
	}
}
