package multilink

import (
	"cmp"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Status implements [Plane].
func (e *Bond) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	var current Status
	if e.port != nil {
		current.Port = e.port.config.Name
	}
	for _, s := range e.peers {
		current.Peers = append(current.Peers, s.status())
	}
	slices.SortFunc(current.Peers, func(a, b PeerStatus) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range e.state.Links {
		current.Links = append(current.Links, e.linkStatus(c, current.Peers))
	}
	slices.SortStableFunc(current.Links, func(a, b status.Link) int { return cmp.Compare(a.Priority, b.Priority) })
	return current
}

// linkStatus is a link over all peers: the state is the best of any, counts are
// sums, and the rest is the worst.
func (e *Bond) linkStatus(c settings.Link, peers []PeerStatus) status.Link {
	sum := status.Link{
		Name: c.Name, Interface: c.InterfaceName(), Kind: c.Kind, Priority: c.Priority,
		State: status.Down, Reason: "no peer",
	}
	if c.Disabled {
		sum.State, sum.Reason = status.Disabled, "disabled"
	}
	if l := e.links[c.Name]; l != nil {
		sum.Port = l.under.Port()
		if info := l.watch.Info(); sum.State == status.Down && (info.Gone || !info.Up) {
			_, sum.Reason = carrierOf(info)
		}
	}
	for _, p := range peers {
		for _, l := range p.Links {
			if l.Name != c.Name {
				continue
			}
			if rankOf(l.State) >= rankOf(sum.State) {
				sum.State, sum.Reason, sum.LastChange = l.State, l.Reason, l.LastChange
			}
			sum.Active = sum.Active || l.Active
			sum.RTT, sum.Jitter = max(sum.RTT, l.RTT), max(sum.Jitter, l.Jitter)
			sum.LossTx, sum.LossRx = max(sum.LossTx, l.LossTx), max(sum.LossRx, l.LossRx)
			sum.TxBytes += l.TxBytes
			sum.RxBytes += l.RxBytes
		}
	}
	return sum
}

// rankOf orders states from worst to best.
func rankOf(s status.State) int {
	return slices.Index([]status.State{status.Disabled, status.Down, status.Probing, status.Suspect, status.Up}, s)
}

// status is what the bond says, with what only its tunnels know.
func (s *peer) status() PeerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.bond.Status(time.Now())
	status := PeerStatus{
		Name: s.name, PublicKey: s.key, Connected: now.Connected, ActiveLink: now.ActiveLink,
		Links: now.Links, Counters: now.Counters,
	}
	for _, l := range s.paths {
		if l == nil {
			continue
		}
		if stats := l.tunnel.Stats(); stats.Handshake.After(status.Handshake) {
			status.Handshake = stats.Handshake
		}
	}
	return status
}
