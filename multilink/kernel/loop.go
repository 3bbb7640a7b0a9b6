//go:build linux

package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// callEvery is how often a peer that is not heard is called anew.
const callEvery = 5 * time.Second

// run starts the loops of a link. They end when its stop and probes are closed.
func (p *Plane) run(l *link) {
	socket := l.probes
	l.loops.Go(func() { p.send(l, socket) })
	l.loops.Go(func() { p.receive(l, socket) })
}

// send probes the peers on a link, and decides on what was heard.
func (p *Plane) send(l *link, socket *net.UDPConn) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	type letter struct {
		to    netip.AddrPort
		probe []byte
	}
	var letters []letter
	for {
		select {
		case <-l.stop:
			return
		case <-timer.C:
		}
		letters = letters[:0]
		p.mu.Lock()
		now := p.now()
		timer.Reset(cmp.Or(l.config.Probe.Interval, defaultInterval))
		for _, to := range p.peers {
			one := to.paths[l.config.Name]
			if one == nil {
				continue
			}
			p.tick(now, to, one)
			letters = append(letters, letter{netip.AddrPortFrom(one.inner, probePort), one.watch.probe(now).append(nil)})
		}
		if now-p.asserted >= assertEvery {
			p.asserted = now
			p.assert()
		}
		p.mu.Unlock()
		for _, one := range letters {
			_, _ = socket.WriteToUDPAddrPort(one.probe, one.to) // what does not arrive is what is watched for
		}
	}
}

// tick decides on a path, and then on the bond. The caller holds mu.
func (p *Plane) tick(now time.Duration, to *peer, one *path) {
	if one.watch.tick(now) {
		p.changed(to, one)
		return
	}
	if w := one.watch; w.state == multilink.Down && one.config.Endpoint.IsValid() && now-max(one.called, w.changed) >= callEvery {
		one.called = now
		if err := p.host.call(to, one); err != nil {
			p.log.Error("the peer is not called; it is tried again", "error", err)
		}
	}
	if to.active == nil || to.active.watch.state != multilink.Up || p.preferred != "" {
		p.decide(to, one.watch.reason)
	}
}

// changed says that the state of a path is another one. The caller holds mu.
func (p *Plane) changed(to *peer, one *path) {
	event := p.event("link", to.config.Name, one.link.config.Name, one.watch.reason)
	event.State = one.watch.state
	p.events.publish(event)
	p.log.Info("link changed", "peer", event.Peer, "link", event.Link, "state", event.State, "reason", event.Reason)
	p.decide(to, fmt.Sprintf("%s is %s: %s", event.Link, event.State, event.Reason))
}

// assert tells the bonds again what to use, and what the hold of a switch has
// ended for. The caller holds mu.
func (p *Plane) assert() {
	if p.preferred != "" && p.now() >= p.preferredUntil {
		p.preferred = ""
		p.decideAll("the time of the switch is over")
	}
	for _, to := range p.peers {
		if to.active == nil {
			continue
		}
		if err := p.host.use(to, to.active); err != nil {
			p.log.Error("the bond does not stay; it is tried again", "error", err)
		}
	}
}

func (p *Plane) event(kind, peer, link, reason string) multilink.Event {
	return multilink.Event{Time: time.Now(), Type: kind, Peer: peer, Link: link, Reason: reason}
}

// receive takes the probes of the peers on a link.
func (p *Plane) receive(l *link, socket *net.UDPConn) {
	packet := make([]byte, probeSize+1)
	for {
		size, from, err := socket.ReadFromUDPAddrPort(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select { // such as an error that the kernel got from a router
			case <-l.stop:
				return
			case <-time.After(time.Millisecond):
				continue
			}
		}
		got, err := parseProbe(packet[:size])
		if err != nil {
			continue // WireGuard says who sent it, not that it is one
		}
		p.mu.Lock()
		for _, to := range p.peers {
			if one := to.paths[l.config.Name]; one != nil && one.inner == from.Addr() {
				one.watch.take(p.now(), got)
			}
		}
		p.mu.Unlock()
	}
}

// watcher follows the interfaces of the links: their carrier and their routes.
type watcher struct {
	done chan struct{}
	loop sync.WaitGroup
}

func watchHost(p *Plane) (*watcher, error) {
	w := &watcher{done: make(chan struct{})}
	links, routes := make(chan netlink.LinkUpdate, 64), make(chan netlink.RouteUpdate, 64)
	ended := func(err error) { p.log.Debug("the kernel's news", "error", err) }
	if err := netlink.LinkSubscribeWithOptions(links, w.done, netlink.LinkSubscribeOptions{ErrorCallback: ended}); err != nil {
		return nil, fmt.Errorf("follow the interfaces: %w", explain(err))
	}
	if err := netlink.RouteSubscribeWithOptions(routes, w.done, netlink.RouteSubscribeOptions{ErrorCallback: ended}); err != nil {
		close(w.done)
		return nil, fmt.Errorf("follow the routes: %w", explain(err))
	}
	w.loop.Go(func() {
		for links != nil || routes != nil {
			select {
			case update, open := <-links:
				if !open {
					links = nil
					continue
				}
				p.carrier(update)
			case update, open := <-routes:
				if !open {
					routes = nil
					continue
				}
				if update.Table == unix.RT_TABLE_MAIN {
					p.rebind(update.LinkIndex)
				}
			}
		}
	})
	return w, nil
}

func (w *watcher) close() {
	close(w.done)
	w.loop.Wait()
}

// carrier takes a link out of use when its interface says that it is down,
// which is faster than silence.
func (p *Plane) carrier(update netlink.LinkUpdate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := update.Header.Type != unix.RTM_DELLINK && update.IfInfomsg.Flags&unix.IFF_RUNNING != 0
	for _, to := range p.peers {
		for _, one := range to.paths {
			if running || interfaceOf(one.link.config) != update.Link.Attrs().Name || one.watch.state == multilink.Down {
				continue
			}
			one.watch.heard = false
			one.watch.fail(p.now(), "the interface has no carrier")
			p.changed(to, one)
		}
	}
}

// rebind has the table of a link follow the routes of its interface.
func (p *Plane) rebind(index int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		device, err := p.host.links.LinkByName(interfaceOf(l.config))
		if err != nil || device.Attrs().Index != index {
			continue
		}
		if err := p.host.bind(l.mark, interfaceOf(l.config)); err != nil {
			p.log.Error("the routes of a link are not followed", "link", l.config.Name, "error", err)
		}
	}
}
