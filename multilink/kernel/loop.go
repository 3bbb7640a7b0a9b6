//go:build linux

package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// callEvery is how often a handshake is started with a peer that is silent.
const callEvery = 5 * time.Second

// run starts the loops of a link. They end when its stop and probes are closed.
func (p *Plane) run(l *link) {
	socket := l.probes
	l.loops.Go(func() { p.send(l, socket) })
	l.loops.Go(func() { p.receive(l, socket) })
}

// send probes the peers on a link, and updates the states of the paths.
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
		timer.Reset(cmp.Or(l.config.Probe.Interval, settings.DefaultProbeInterval))
		for _, to := range p.peers {
			one := to.paths[l.config.Name]
			if one == nil {
				continue
			}
			p.tickLocked(now, to, one)
			address, probe := netip.AddrPortFrom(one.inner, probePort), one.watch.probe(now)
			letters = append(letters, letter{address, probe.append(nil)})
			if length := one.watch.trial(now, l.config.Metered); length > 0 {
				letters = append(letters, letter{address, probe.padded(length)})
			}
		}
		due := now-p.asserted >= assertEvery
		if due {
			p.asserted = now
			p.assertLocked()
		}
		p.mu.Unlock()
		for _, one := range letters {
			_, _ = socket.WriteToUDPAddrPort(one.probe, one.to) // a probe that is lost is what the other end detects
		}
		if due {
			p.fit()
		}
	}
}

// tickLocked updates the state of a path, and then the choice of its bond.
func (p *Plane) tickLocked(now time.Duration, to *peer, one *path) {
	if one.watch.tick(now) {
		p.changedLocked(to, one)
		return
	}
	if w := one.watch; w.state == status.Down && one.config.Endpoint.IsValid() && now-max(one.called, w.changed) >= callEvery {
		one.called = now
		if err := p.host.call(to, one); err != nil {
			p.log.Error("the peer is not called; it is tried again", "error", err)
		}
	}
	if to.active == nil || to.active.watch.state != status.Up || p.preferred != "" {
		p.decideLocked(to, one.watch.reason)
	}
}

// changedLocked publishes and logs that the state of a path has changed.
func (p *Plane) changedLocked(to *peer, one *path) {
	event := p.event("link", to.config.Name, one.link.config.Name, one.watch.reason)
	event.State = one.watch.state
	p.events.publish(event)
	p.log.Info("link changed", "peer", event.Peer, "link", event.Link, "state", event.State, "reason", event.Reason)
	p.decideLocked(to, fmt.Sprintf("%s is %s: %s", event.Link, event.State, event.Reason))
}

// assertLocked writes again what the bonds use, and what the hold of a switch has
// ended for.
func (p *Plane) assertLocked() {
	if p.preferred != "" && p.now() >= p.preferredUntil {
		p.preferred = ""
		p.decideAllLocked("the time of the switch is over")
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

func (p *Plane) event(kind, peer, link, reason string) status.Event {
	return status.Event{Time: time.Now(), Type: kind, Peer: peer, Link: link, Reason: reason}
}

// receive takes the probes of the peers on a link.
func (p *Plane) receive(l *link, socket *net.UDPConn) {
	packet := make([]byte, longestTunnel)
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
			continue // WireGuard says which peer sent it, not that it is one
		}
		p.mu.Lock()
		for _, to := range p.peers {
			if one := to.paths[l.config.Name]; one != nil && one.inner == from.Addr() {
				one.watch.take(p.now(), got, size+probeHeaders)
			}
		}
		p.mu.Unlock()
	}
}
