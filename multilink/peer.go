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

// session drives the bond of one peer: it holds the lock that a Bond asks for,
// the clock, and a lane for each link.
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

	due  chan struct{} // the bond wants an earlier tick; has room for one
	stop chan struct{}
	done chan struct{}
}

// newSession begins to talk to a peer, over no link yet.
func (e *Bond) newPeer(p PeerConfig) (*peer, error) {
	bond, err := bond.New(e.state.Bond, nil, newEpoch(), time.Now())
	if err != nil {
		return nil, fmt.Errorf("peer %q: %w", p.Name, err)
	}
	s := &peer{
		name: p.Name, key: p.PublicKey, port: e.table.Add(),
		deliver: e.fromPeer, publish: e.events.publish, log: e.log,
		bond: bond,
		due:  make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s, nil
}

// newEpoch is a number that no earlier life of this instance has used.
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
func (s *peer) run() {
	defer close(s.done)
	timer := time.NewTimer(soonest)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.due:
		case <-timer.C:
			s.step(func(now time.Time) {
				s.measureLocked()
				s.bond.Tick(now, &s.out)
			})
		}
		s.mu.Lock()
		next := s.bond.Next()
		s.mu.Unlock()
		if next.IsZero() {
			timer.Stop()
			continue
		}
		timer.Reset(max(soonest, time.Until(next)))
	}
}

// step lets f work on the bond and passes on what that gave. It reports the
// lane that wants a pause, if any.
func (s *peer) step(f func(now time.Time)) (full *path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	before := s.bond.Next()
	s.out.Reset()
	now := time.Now()
	f(now)
	full = s.flushLocked(now)
	if after := s.bond.Next(); !after.IsZero() && (before.IsZero() || after.Before(before)) {
		signal(s.due)
	}
	return full
}

// flush hands on the packets and events of the bond's last answer.
func (s *peer) flushLocked(now time.Time) (full *path) {
	var pushed uint32 // lanes, by LinkID
	for _, p := range s.out.Packets {
		l := s.pathLocked(p.Link)
		switch {
		case l == nil:
			p.Buffer.Release()
		case p.Control:
			if err := l.tunnel.SendControl(p.Data()); err != nil && !errors.Is(err, ErrLinkDown) {
				s.log.Debug("send probe", "peer", s.name, "link", l.config.Link, "err", err)
			}
			p.Buffer.Release()
		default:
			if l.push(now, p) {
				full = l
			}
			pushed |= 1 << p.Link
		}
	}
	for id, l := range s.paths {
		if pushed&(1<<id) != 0 {
			signal(l.wake)
		}
	}
	if len(s.out.Events) > 0 {
		for i := range s.out.Events {
			s.out.Events[i].Peer = s.name
		}
		s.publish(s.out.Events)
	}
	return full
}

// send takes frames for the peer. It reports the lane that wants a pause.
func (s *peer) send(frames []outgoing) (full *path) {
	return s.step(func(now time.Time) {
		for _, o := range frames {
			s.bond.Send(now, o.frame, o.class, o.flow, &s.out)
		}
	})
}

// receive takes packets that came over a link and delivers their frames. The
// list is the caller's, to be used again.
func (s *peer) receive(link packet.LinkID, packets [][]byte, list [][]byte) [][]byte {
	list = list[:0]
	var turn uint64
	s.step(func(now time.Time) {
		for _, p := range packets {
			had := len(s.out.Frames)
			s.bond.Receive(now, link, p, &s.out)
			for _, frame := range s.out.Frames[had:] {
				if h, ok := packet.ParseHeader(p); ok && h.Kind == packet.TypeFragment {
					// It was put together in memory that the bond uses again.
					frame = bytes.Clone(frame)
				}
				list = append(list, frame)
			}
		}
		if len(list) > 0 {
			turn = s.deliveries.draw()
		}
	})
	if len(list) > 0 {
		s.deliveries.take(turn, func() { s.deliver(s.port, list) })
	}
	return list
}

func (s *peer) failed(link packet.LinkID, err error) {
	s.step(func(now time.Time) { s.bond.Failed(now, link, err, &s.out) })
}

// carrier tells the bond how the interface below a link does. A link that has
// no tunnel has no carrier either, whatever its interface does.
func (s *peer) carrier(link string, info LinkInfo) {
	up, reason := carrierOf(info)
	s.step(func(now time.Time) {
		if id, ok := s.bond.LinkID(link); ok && s.pathLocked(id) != nil {
			s.bond.Carrier(now, id, up, reason, &s.out)
		}
		s.measureLocked()
	})
}

// lane of a link, or nil where it has no tunnel. The lock is held.
func (s *peer) pathLocked(id packet.LinkID) *path {
	if int(id) >= len(s.paths) {
		return nil
	}
	return s.paths[id]
}

// carrierOf says whether an interface can carry anything, and why.
func carrierOf(info LinkInfo) (up bool, reason string) {
	switch {
	case info.Gone:
		return false, "the interface is gone"
	case !info.Up:
		return false, "no carrier"
	}
	return true, "carrier"
}

// configure gives the bond its links and rules. Links that are new have no
// tunnel yet.
func (s *peer) configure(links []settings.Link, config settings.Bond, classes []settings.Class) error {
	var err error
	s.step(func(now time.Time) {
		if err = s.bond.SetLinks(now, links, &s.out); err != nil {
			return
		}
		for _, c := range links {
			if id, _ := s.bond.LinkID(c.Name); s.pathLocked(id) == nil {
				s.bond.Carrier(now, id, false, noTunnel, &s.out)
			}
		}
		err = s.bond.Configure(now, config, classes, &s.out)
		s.classes = classes
		for _, l := range s.paths {
			if l == nil {
				continue
			}
			at := slices.IndexFunc(links, func(c settings.Link) bool { return c.Name == l.config.Link })
			l.configure(classes, links[at].Rate)
		}
		s.measureLocked()
	})
	return err
}

// noTunnel is why a link is down that is not attached yet, or between two tunnels.
const noTunnel = "no tunnel"

// attach gives a link of the bond its tunnel.
func (s *peer) attach(config PeerLink, link *localLink) error {
	s.mu.Lock()
	id, ok := s.bond.LinkID(config.Link)
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("open tunnel to %q over %q: %w", s.name, config.Link, ErrUnknownLink)
	}
	l := newPath(id, config, scheduler.New(s.classes, link.config.Rate), s.failed)
	var list [][]byte // of the one goroutine that calls receive
	tunnel, err := link.under.Open(TunnelPeer{
		PublicKey: s.key, PresharedKey: config.PresharedKey, Endpoint: config.Endpoint,
	}, func(packets [][]byte) { list = s.receive(id, packets, list) })
	if err != nil {
		return fmt.Errorf("open tunnel to %q over %q: %w", s.name, config.Link, err)
	}
	l.tunnel = tunnel
	go l.run()
	s.mu.Lock()
	for len(s.paths) <= int(id) {
		s.paths = append(s.paths, nil)
	}
	s.paths[id] = l
	s.mu.Unlock()
	link.report(s)
	return nil
}

// detach ends the tunnel of a link, if there is one. What was under way there
// goes over other links again.
func (s *peer) detach(link string) error {
	var l *path
	s.step(func(now time.Time) {
		at := slices.IndexFunc(s.paths, func(l *path) bool { return l != nil && l.config.Link == link })
		if at < 0 {
			return
		}
		l, s.paths[at] = s.paths[at], nil
		s.bond.Carrier(now, packet.LinkID(at), false, noTunnel, &s.out)
	})
	if l == nil {
		return nil
	}
	return l.close()
}

// has reports whether there is a tunnel that was made for exactly that.
func (s *peer) has(config PeerLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.paths, func(l *path) bool { return l != nil && l.config == config })
}

// linkNames are the links that have a tunnel.
func (s *peer) linkNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, l := range s.paths {
		if l != nil {
			names = append(names, l.config.Link)
		}
	}
	return names
}

// measure tells the bond what the links take, which changes with the interfaces
// below, and once an end that is called knows where its peer is. The lock is
// held.
func (s *peer) measureLocked() {
	s.longest = 0
	for id, l := range s.paths {
		if l == nil {
			continue
		}
		mtu := l.tunnel.MTU()
		s.bond.SetMTU(packet.LinkID(id), mtu)
		if frame := mtu - HeaderSize; s.longest == 0 || frame < s.longest {
			s.longest = frame
		}
	}
}

// segment is the longest frame that needs no pieces. Zero is unknown.
func (s *peer) segment() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longest
}

// close ends the clock and all tunnels.
func (s *peer) close() error {
	s.mu.Lock()
	s.closed = true
	lanes := s.paths
	s.paths = nil
	s.mu.Unlock()
	close(s.stop)
	<-s.done
	var errs []error
	for _, l := range lanes {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	return errors.Join(errs...)
}
