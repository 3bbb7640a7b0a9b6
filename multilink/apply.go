package multilink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Apply implements [Plane].
//
// Whoever is left out of the state is cut off before anything else happens.
// When a step fails, the steps before it are undone by making the old state
// hold again; a link or port that the failed change had closed is then missing
// for that while.
func (e *Bond) Apply(ctx context.Context, state State) error {
	if err := state.Check(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("apply state: %w", ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	old := e.state
	e.state = cloneState(state)
	err := e.converge(ctx)
	if err == nil {
		return nil
	}
	e.state = old
	if undo := e.converge(context.WithoutCancel(ctx)); undo != nil {
		e.log.Error("restore what held before a refused change", "err", undo)
	}
	return err
}

// converge makes e.state hold, from whatever holds.
func (e *Bond) converge(ctx context.Context) error {
	classes, err := ethernet.NewClassifier(e.state.Classes)
	if err != nil {
		return err
	}
	e.removePeers()
	e.removeLinks()
	e.publishForwarding(classes)
	// An error keeps what was opened until then: the next converge starts
	// from there.
	err = errors.Join(e.openLinks(ctx), e.openPort(ctx))
	if err == nil {
		err = e.openPeers()
	}
	e.publishForwarding(classes)
	for _, l := range e.links {
		l.report(slices.Collect(maps.Values(e.peers))...)
	}
	return err
}

// publishLayout lets the data path see what is there.
func (e *Bond) publishForwarding(classes *ethernet.Classifier) {
	next := &forwarding{classes: classes, peers: make(map[ethernet.Port]*peer, len(e.peers))}
	if e.port != nil {
		next.port = e.port.port
	}
	for _, s := range e.peers {
		next.peers[s.port] = s
	}
	e.forwarding.Store(next)
}

// removePeers ends the sessions of those who are in the state no more.
func (e *Bond) removePeers() {
	wanted := make(map[Key]string, len(e.state.Peers))
	for _, p := range e.state.Peers {
		wanted[p.PublicKey] = p.Name
	}
	for key, s := range e.peers {
		if wanted[key] == s.name {
			continue
		}
		delete(e.peers, key)
		e.table.Remove(s.port)
		if err := s.close(); err != nil {
			e.log.Warn("end session", "peer", s.name, "err", err)
		}
		e.events.publish([]status.Event{{Time: time.Now(), Type: "peer", Peer: s.name, Reason: "removed"}})
	}
}

// removeLinks closes links that are in the state no more, or not like that.
func (e *Bond) removeLinks() {
	for name, l := range e.links {
		at := slices.IndexFunc(e.state.Links, func(c settings.Link) bool { return c.Name == name })
		if at >= 0 && l.private == e.state.PrivateKey && sameSocket(l.config, e.state.Links[at]) {
			l.config = e.state.Links[at]
			continue
		}
		delete(e.links, name)
		for _, s := range e.peers {
			if err := s.detach(name); err != nil {
				e.log.Warn("end tunnel", "peer", s.name, "link", name, "err", err)
			}
		}
		if err := l.close(); err != nil {
			e.log.Warn("close link", "link", name, "err", err)
		}
	}
}

func (e *Bond) openLinks(ctx context.Context) error {
	for _, c := range e.state.Links {
		if e.links[c.Name] != nil {
			continue
		}
		l, err := e.openLink(ctx, c, e.state.PrivateKey)
		if err != nil {
			return err
		}
		e.links[c.Name] = l
	}
	return nil
}

// openPort opens the port, or another one in its place. Without a name there
// is none: a server may do nothing but connect its peers.
func (e *Bond) openPort(ctx context.Context) error {
	want := e.state.Port
	if e.port != nil {
		if reflect.DeepEqual(e.port.config, want) {
			return nil
		}
		if err := e.port.close(); err != nil {
			e.log.Warn("close port", "port", e.port.config.Name, "err", err)
		}
		e.port = nil
	}
	if want.Name == "" {
		return nil
	}
	port, err := e.host.Port(ctx, want)
	if err != nil {
		return fmt.Errorf("open port %q: %w", want.Name, err)
	}
	e.port = e.readPort(want, port)
	return nil
}

// openPeers begins the sessions that are missing, and gives every session the
// links, tunnels and rules of the state.
func (e *Bond) openPeers() error {
	for _, p := range e.state.Peers {
		s := e.peers[p.PublicKey]
		if s == nil {
			var err error
			if s, err = e.newPeer(p); err != nil {
				return err
			}
			e.peers[p.PublicKey] = s
			e.events.publish([]status.Event{{Time: time.Now(), Type: "peer", Peer: s.name, Reason: "added"}})
		}
		if err := e.configure(s, p); err != nil {
			return err
		}
	}
	return nil
}

// configure makes a session what the state says of its peer.
func (e *Bond) configure(s *peer, p PeerConfig) error {
	links := make([]settings.Link, 0, len(p.Links))
	for _, c := range e.state.Links {
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
			e.log.Warn("end tunnel", "peer", s.name, "link", name, "err", err)
		}
	}
	if err := s.configure(links, e.state.Bond, e.state.Classes); err != nil {
		return fmt.Errorf("peer %q: %w", s.name, err)
	}
	for _, l := range p.Links {
		if s.has(l) {
			continue
		}
		if err := s.attach(l, e.links[l.Link]); err != nil {
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
	s.Peers = slices.Clone(s.Peers)
	for i := range s.Peers {
		s.Peers[i].Links = slices.Clone(s.Peers[i].Links)
		s.Peers[i].Addresses = slices.Clone(s.Peers[i].Addresses)
	}
	s.Classes = slices.Clone(s.Classes)
	return s
}
