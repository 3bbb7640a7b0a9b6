package multilink

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/bond"
	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/internal/scheduler"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// outgoing is a frame on its way to a peer.
type outgoing struct {
	frame []byte
	class int
	flow  uint32
}

// peer drives the state machine of one peer: it has the lock that a bond.Bond
// requires, the clock, and a path for each link.
type peer struct {
	name    string
	key     Key
	port    ethernet.Port
	deliver func(from ethernet.Port, frames [][]byte)
	publish func([]status.Event)
	log     *slog.Logger

	mu      sync.Mutex
	bond    *bond.Bond
	out     bond.Output
	paths   []*path // by LinkID; nil where there is no tunnel
	classes []settings.Class
	longest int // frame that every link carries in one piece; 0 is unknown
	closed  bool

	deliveries turns // of the goroutines of all links

	due  chan struct{} // an earlier tick is due; has room for one
	stop chan struct{}
	done chan struct{}
}

// newPeer starts a peer, over no link yet.
func (b *Bond) newPeer(p PeerConfig) (*peer, error) {
	bond, err := bond.New(b.state.Bond, nil, newEpoch(), time.Now())
	if err != nil {
		return nil, fmt.Errorf("peer %q: %w", p.Name, err)
	}
	s := &peer{
		name: p.Name, key: p.PublicKey, port: b.table.Add(),
		deliver: b.fromPeer, publish: b.events.publish, log: b.log,
		bond: bond,
		due:  make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s, nil
}

// newEpoch returns a number that no earlier life of this instance has used.
func newEpoch() uint64 {
	var b [8]byte
	for {
		// It never fails: crypto/rand ends the program where there is no
		// randomness.
		_, _ = rand.Read(b[:])
		if epoch := binary.BigEndian.Uint64(b[:]); epoch != 0 {
			return epoch
		}
	}
}

// soonest is the shortest time that a timer is set to. In a bubble of
// testing/synctest, a select that finds a timer due already runs it on the spot,
// which the race detector of Go 1.26 does not survive when two goroutines do so.
const soonest = time.Microsecond

// run ticks the bond until close.
func (p *peer) run() {
	defer close(p.done)
	timer := time.NewTimer(soonest)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-p.due:
		case <-timer.C:
			p.step(func(now time.Time) {
				p.measureLocked()
				p.bond.Tick(now, &p.out)
			})
		}
		p.mu.Lock()
		next := p.bond.Next()
		p.mu.Unlock()
		if next.IsZero() {
			timer.Stop()
			continue
		}
		timer.Reset(max(soonest, time.Until(next)))
	}
}

// step calls f with the lock held and passes on its output. It returns a path that
// is full, if any.
func (p *peer) step(f func(now time.Time)) (full *path) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	before := p.bond.Next()
	p.out.Reset()
	now := time.Now()
	f(now)
	full = p.flushLocked(now)
	if after := p.bond.Next(); !after.IsZero() && (before.IsZero() || after.Before(before)) {
		signal(p.due)
	}
	return full
}

// flushLocked passes on the packets and events of the last call.
func (p *peer) flushLocked(now time.Time) (full *path) {
	var pushed uint32 // paths, by LinkID
	for _, next := range p.out.Packets {
		l := p.pathLocked(next.Link)
		switch {
		case l == nil:
			next.Buffer.Release()
		case next.Control:
			if err := l.tunnel.SendControl(next.Data()); err != nil && !errors.Is(err, ErrLinkDown) {
				p.log.Debug("send probe", "peer", p.name, "link", l.config.Link, "err", err)
			}
			next.Buffer.Release()
		default:
			if l.push(now, next) {
				full = l
			}
			pushed |= 1 << next.Link
		}
	}
	for id, l := range p.paths {
		if pushed&(1<<id) != 0 {
			signal(l.wake)
		}
	}
	if len(p.out.Events) > 0 {
		for i := range p.out.Events {
			p.out.Events[i].Peer = p.name
			if e := p.out.Events[i]; e.Type == "conflict" {
				p.log.Warn("conflict of keys", "peer", p.name, "reason", e.Reason)
			}
		}
		p.publish(p.out.Events)
	}
	return full
}

// send sends frames to the peer. It returns a path that is full, if any.
func (p *peer) send(frames []outgoing) (full *path) {
	return p.step(func(now time.Time) {
		for _, o := range frames {
			p.bond.Send(now, o.frame, o.class, o.flow, &p.out)
		}
	})
}

// receive takes packets that came over a link and delivers their frames. The list
// belongs to the caller, and is reused.
func (p *peer) receive(link packet.LinkID, packets [][]byte, list [][]byte) [][]byte {
	list = list[:0]
	var turn uint64
	p.step(func(now time.Time) {
		for _, data := range packets {
			had := len(p.out.Frames)
			p.bond.Receive(now, link, data, &p.out)
			for _, frame := range p.out.Frames[had:] {
				if h, ok := packet.ParseHeader(data); ok && h.Kind == packet.TypeFragment {
					// It was reassembled in memory that the bond reuses.
					frame = bytes.Clone(frame)
				}
				list = append(list, frame)
			}
		}
		if len(list) > 0 {
			turn = p.deliveries.draw()
		}
	})
	if len(list) > 0 {
		p.deliveries.take(turn, func() { p.deliver(p.port, list) })
	}
	return list
}

func (p *peer) failed(link packet.LinkID, err error) {
	p.step(func(now time.Time) { p.bond.Failed(now, link, err, &p.out) })
}

// carrier passes on the state of the interface below a link. A link without a
// tunnel has no carrier either, whatever its interface reports.
func (p *peer) carrier(link string, info LinkInfo) {
	up, reason := carrierState(info)
	p.step(func(now time.Time) {
		if id, ok := p.bond.LinkID(link); ok && p.pathLocked(id) != nil {
			p.bond.Carrier(now, id, up, reason, &p.out)
		}
		p.measureLocked()
	})
}

// pathLocked returns the path of a link, or nil where it has no tunnel.
func (p *peer) pathLocked(id packet.LinkID) *path {
	if int(id) >= len(p.paths) {
		return nil
	}
	return p.paths[id]
}

// carrierState reports whether an interface can carry packets, and why.
func carrierState(info LinkInfo) (up bool, reason string) {
	switch {
	case info.Gone:
		return false, "the interface is gone"
	case !info.Up:
		return false, "no carrier"
	}
	return true, "carrier"
}

// configure sets the links and rules of the bond. Links that are new have no tunnel
// yet.
func (p *peer) configure(links []settings.Link, config settings.Bond, classes []settings.Class) error {
	var err error
	p.step(func(now time.Time) {
		if err = p.bond.SetLinks(now, links, &p.out); err != nil {
			return
		}
		for _, c := range links {
			if id, _ := p.bond.LinkID(c.Name); p.pathLocked(id) == nil {
				p.bond.Carrier(now, id, false, noTunnel, &p.out)
			}
		}
		err = p.bond.Configure(now, config, classes, &p.out)
		p.classes = classes
		for _, l := range p.paths {
			if l == nil {
				continue
			}
			at := slices.IndexFunc(links, func(c settings.Link) bool { return c.Name == l.config.Link })
			l.configure(classes, links[at].Rate)
		}
		p.measureLocked()
	})
	return err
}

// noTunnel is the reason of a link that is not attached yet, or between two tunnels.
const noTunnel = "no tunnel"

// attach gives a link of the bond its tunnel.
func (p *peer) attach(config PeerLink, link *localLink) error {
	p.mu.Lock()
	id, ok := p.bond.LinkID(config.Link)
	p.mu.Unlock()
	if !ok {
		return fmt.Errorf("open tunnel to %q over %q: %w", p.name, config.Link, ErrUnknownLink)
	}
	l := newPath(id, config, scheduler.New(p.classes, link.config.Rate), p.failed)
	var list [][]byte // of the one goroutine that calls receive
	tunnel, err := link.under.Open(TunnelPeer{
		PublicKey: p.key, PresharedKey: config.PresharedKey, Endpoint: config.Endpoint,
	}, func(packets [][]byte) { list = p.receive(id, packets, list) })
	if err != nil {
		return fmt.Errorf("open tunnel to %q over %q: %w", p.name, config.Link, err)
	}
	l.tunnel = tunnel
	go l.run()
	p.mu.Lock()
	for len(p.paths) <= int(id) {
		p.paths = append(p.paths, nil)
	}
	p.paths[id] = l
	p.mu.Unlock()
	link.report(p)
	return nil
}

// detach ends the tunnel of a link, if there is one. What was under way there is
// sent again over other links.
func (p *peer) detach(link string) error {
	var l *path
	p.step(func(now time.Time) {
		at := slices.IndexFunc(p.paths, func(l *path) bool { return l != nil && l.config.Link == link })
		if at < 0 {
			return
		}
		l, p.paths[at] = p.paths[at], nil
		p.bond.Carrier(now, packet.LinkID(at), false, noTunnel, &p.out)
	})
	if l == nil {
		return nil
	}
	return l.close()
}

// has reports whether there is a tunnel that was created for exactly that.
func (p *peer) has(config PeerLink) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.paths, func(l *path) bool { return l != nil && l.config == config })
}

// linkNames returns the links that have a tunnel.
func (p *peer) linkNames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, l := range p.paths {
		if l != nil {
			names = append(names, l.config.Link)
		}
	}
	return names
}

// measureLocked updates the MTUs of the links. They change with the interfaces below,
// when the responding end of a tunnel learns the address of its peer, and with what the
// bond finds out of the paths.
func (p *peer) measureLocked() {
	p.longest = 0
	for id, l := range p.paths {
		if l == nil {
			continue
		}
		p.bond.SetMTU(packet.LinkID(id), l.tunnel.MTU())
		if frame := p.bond.MTU(packet.LinkID(id)) - HeaderSize; p.longest == 0 || frame < p.longest {
			p.longest = frame
		}
	}
}

// segment returns the longest frame that needs no pieces. Zero is unknown.
func (p *peer) segment() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest
}

// close ends the clock and all tunnels.
func (p *peer) close() error {
	p.mu.Lock()
	p.closed = true
	lanes := p.paths
	p.paths = nil
	p.mu.Unlock()
	close(p.stop)
	<-p.done
	var errs []error
	for _, l := range lanes {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	return errors.Join(errs...)
}
