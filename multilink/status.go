package multilink

import (
	"cmp"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Status implements [Plane].
func (b *Bond) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	var current Status
	if b.port != nil {
		current.Port = b.port.config.Name
	}
	for _, s := range b.peers {
		p := s.status(b.interfaceMTU)
		p.Counters.Refused = b.table.Refused(s.port)
		current.Peers = append(current.Peers, p)
	}
	slices.SortFunc(current.Peers, func(x, y PeerStatus) int { return cmp.Compare(x.Name, y.Name) })
	for _, c := range b.state.Links {
		current.Links = append(current.Links, b.linkStatus(c, current.Peers))
	}
	slices.SortStableFunc(current.Links, func(x, y status.Link) int { return cmp.Compare(x.Priority, y.Priority) })
	return current
}

// linkStatus returns a link over all peers: the state is the best of any, counts are
// sums, and the rest is the worst.
func (b *Bond) linkStatus(c settings.Link, peers []PeerStatus) status.Link {
	sum := status.Link{
		Name: c.Name, Interface: c.InterfaceName(), Kind: c.Kind, Priority: c.Priority,
		State: status.Down, Reason: "no peer",
	}
	if c.Disabled {
		sum.State, sum.Reason = status.Disabled, "disabled"
	}
	if l := b.links[c.Name]; l != nil {
		sum.Port = l.under.Port()
		if info := l.watch.Info(); sum.State == status.Down && (info.Gone || !info.Up) {
			_, sum.Reason = carrierState(info)
		}
	}
	var measured []status.Link
	for _, p := range peers {
		for _, l := range p.Links {
			if l.Name != c.Name {
				continue
			}
			sum.TxBytes += l.TxBytes
			sum.RxBytes += l.RxBytes
			if rankState(l.State) >= rankState(sum.State) {
				sum.State = l.State
				sum.Reason = l.Reason
				sum.LastChange = l.LastChange
			}
			sum.Active = sum.Active || l.Active
			measured = append(measured, l)
		}
	}
	sum.Measured(measured)
	return sum
}

// rankState orders states from worst to best.
func rankState(s status.State) int {
	return slices.Index([]status.State{status.Disabled, status.Down, status.Probing, status.Suspect, status.Up}, s)
}

// interfaceMTU returns that of the interface of a link; 0 is unknown.
func (b *Bond) interfaceMTU(link string) int {
	if l := b.links[link]; l != nil {
		return l.watch.Info().MTU
	}
	return 0
}

// status returns what the state machine reports, with what only its tunnels have. The path
// MTU is then that of IP, which has the headers of the tunnel besides.
func (p *peer) status(interfaceMTU func(link string) int) PeerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.bond.Status(time.Now())
	status := PeerStatus{
		Name: p.name, PublicKey: p.key, Connected: now.Connected, ActiveLink: now.ActiveLink, Conflict: now.Conflict,
		Links: now.Links, Counters: now.Counters,
	}
	for _, l := range p.paths {
		if l == nil {
			continue
		}
		for i := range status.Links {
			if s := &status.Links[i]; s.Name == l.config.Link && s.PathMTU > 0 {
				s.PathMTU += max(0, interfaceMTU(s.Name)-l.tunnel.MTU())
			}
		}
		if stats := l.tunnel.Stats(); stats.Handshake.After(status.Handshake) {
			status.Handshake = stats.Handshake
		}
	}
	return status
}
