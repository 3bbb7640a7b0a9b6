package multilink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Apply implements [Plane].
//
// A peer that is not in the state is cut off before anything else happens. When a
// step fails, the old state is made to hold again; a link or port that the failed
// change had closed is missing meanwhile.
func (b *Bond) Apply(ctx context.Context, state State) error {
	if err := state.Check(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("apply state: %w", ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	old := b.state
	b.state = cloneState(state)
	err := b.converge(ctx)
	if err == nil {
		return nil
	}
	b.state = old
	if undo := b.converge(context.WithoutCancel(ctx)); undo != nil {
		b.log.Error("restore the state before a failed change", "err", undo)
	}
	return err
}

// converge makes e.state hold, from whatever holds.
func (b *Bond) converge(ctx context.Context) error {
	classes, err := ethernet.NewClassifier(b.state.Classes)
	if err != nil {
		return err
	}
	b.removePeers()
	b.removeLinks()
	b.publishForwarding(classes)
	// An error keeps what was opened until then: the next converge starts
	// from there.
	err = errors.Join(b.openLinks(ctx), b.openPort(ctx))
	if err == nil {
		err = b.openPeers()
	}
	b.publishForwarding(classes)
	for _, l := range b.links {
		l.report(slices.Collect(maps.Values(b.peers))...)
	}
	return err
}

// publishForwarding publishes the current state to the data path.
func (b *Bond) publishForwarding(classes *ethernet.Classifier) {
	next := &forwarding{classes: classes, peers: make(map[ethernet.Port]*peer, len(b.peers))}
	if b.port != nil {
		next.port = b.port.port
	}
	for _, s := range b.peers {
		next.peers[s.port] = s
	}
	b.forwarding.Store(next)
	b.table.Assign(b.assigned())
}

// assigned returns which port has which address on the bonded network. One that is given
// twice is left out.
func (b *Bond) assigned() map[netip.Addr]ethernet.Port {
	all := make(map[netip.Addr]ethernet.Port)
	twice := make(map[netip.Addr]bool)
	assign := func(prefixes []netip.Prefix, to ethernet.Port) {
		for _, p := range prefixes {
			other, known := all[p.Addr()]
			twice[p.Addr()] = twice[p.Addr()] || (known && other != to)
			all[p.Addr()] = to
		}
	}
	assign(b.state.Port.Addresses, ethernet.LocalPort)
	for _, p := range b.state.Peers {
		if s := b.peers[p.PublicKey]; s != nil {
			assign(p.Addresses, s.port)
		}
	}
	for address := range twice {
		if twice[address] {
			delete(all, address)
		}
	}
	return all
}

// removePeers closes the peers that are not in the state any more.
func (b *Bond) removePeers() {
	wanted := make(map[Key]string, len(b.state.Peers))
	for _, p := range b.state.Peers {
		wanted[p.PublicKey] = p.Name
	}
	for key, s := range b.peers {
		if wanted[key] == s.name {
			continue
		}
		delete(b.peers, key)
		b.table.Remove(s.port)
		if err := s.close(); err != nil {
			b.log.Warn("close peer", "peer", s.name, "err", err)
		}
		b.events.publish([]status.Event{{Time: time.Now(), Type: "peer", Peer: s.name, Reason: "removed"}})
	}
}

// removeLinks closes links that are not in the state any more, or with other settings.
func (b *Bond) removeLinks() {
	for name, l := range b.links {
		at := slices.IndexFunc(b.state.Links, func(c settings.Link) bool { return c.Name == name })
		if at >= 0 && l.private == b.state.PrivateKey && sameSocket(l.config, b.state.Links[at]) {
			l.config = b.state.Links[at]
			continue
		}
		delete(b.links, name)
		for _, s := range b.peers {
			if err := s.detach(name); err != nil {
				b.log.Warn("end tunnel", "peer", s.name, "link", name, "err", err)
			}
		}
		if err := l.close(); err != nil {
			b.log.Warn("close link", "link", name, "err", err)
		}
	}
}

func (b *Bond) openLinks(ctx context.Context) error {
	for _, c := range b.state.Links {
		if b.links[c.Name] != nil {
			continue
		}
		l, err := b.openLink(ctx, c, b.state.PrivateKey)
		if err != nil {
			return err
		}
		b.links[c.Name] = l
	}
	return nil
}

// openPort opens the port, or another one in its place. Without a name there
// is none: a server may do nothing but connect its peers.
func (b *Bond) openPort(ctx context.Context) error {
	want := b.state.Port
	if b.port != nil {
		if reflect.DeepEqual(b.port.config, want) {
			return nil
		}
		if err := b.port.close(); err != nil {
			b.log.Warn("close port", "port", b.port.config.Name, "err", err)
		}
		b.port = nil
	}
	if want.Name == "" {
		return nil
	}
	port, err := b.host.Port(ctx, want)
	if err != nil {
		return fmt.Errorf("open port %q: %w", want.Name, err)
	}
	b.port = b.readPort(want, port)
	return nil
}

// openPeers opens the peers that are missing, and gives every peer the links, tunnels
// and rules of the state.
func (b *Bond) openPeers() error {
	for _, p := range b.state.Peers {
		s := b.peers[p.PublicKey]
		if s == nil {
			var err error
			if s, err = b.newPeer(p); err != nil {
				return err
			}
			b.peers[p.PublicKey] = s
			b.events.publish([]status.Event{{Time: time.Now(), Type: "peer", Peer: s.name, Reason: "added"}})
		}
		if err := b.configure(s, p); err != nil {
			return err
		}
	}
	return nil
}

// configure gives a peer its links, tunnels and rules.
func (b *Bond) configure(s *peer, p PeerConfig) error {
	links := make([]settings.Link, 0, len(p.Links))
	for _, c := range b.state.Links {
		if slices.ContainsFunc(p.Links, func(l PeerLink) bool { return l.Link == c.Name }) {
			links = append(links, c)
		}
	}
	for _, name := range s.linkNames() {
		wanted := slices.ContainsFunc(p.Links, func(l PeerLink) bool { return l.Link == name && s.has(l) })
		if wanted {
			continue
		}
		if err := s.detach(name); err != nil {
			b.log.Warn("end tunnel", "peer", s.name, "link", name, "err", err)
		}
	}
	if err := s.configure(links, b.state.Bond, b.state.Classes); err != nil {
		return fmt.Errorf("peer %q: %w", s.name, err)
	}
	for _, l := range p.Links {
		if s.has(l) {
			continue
		}
		if err := s.attach(l, b.links[l.Link]); err != nil {
			return err
		}
	}
	return nil
}

// cloneState copies what a caller might change.
func cloneState(s State) State {
	s.Port.Addresses = slices.Clone(s.Port.Addresses)
	s.Port.Members = slices.Clone(s.Port.Members)
	s.Port.Routes = slices.Clone(s.Port.Routes)
	s.Links = slices.Clone(s.Links)
	s.Absent = slices.Clone(s.Absent)
	s.Peers = slices.Clone(s.Peers)
	for i := range s.Peers {
		s.Peers[i].Links = slices.Clone(s.Peers[i].Links)
		s.Peers[i].Addresses = slices.Clone(s.Peers[i].Addresses)
	}
	s.Classes = slices.Clone(s.Classes)
	return s
}
