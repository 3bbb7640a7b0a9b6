package multilink

import (
	"cmp"
	"slices"
	"time"
)

// Status implements [Plane].
func (e *Engine) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	var status Status
	if e.port != nil {
		status.Port = e.port.config.Name
	}
	for _, s := range e.peers {
		status.Peers = append(status.Peers, s.status())
	}
	slices.SortFunc(status.Peers, func(a, b PeerStatus) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range e.state.Links {
		status.Links = append(status.Links, e.linkStatus(c, status.Peers))
	}
	slices.SortStableFunc(status.Links, func(a, b LinkStatus) int { return cmp.Compare(a.Priority, b.Priority) })
	return status
}

// linkStatus is a link over all peers: the state is the best of any, counts are
// sums, and the rest is the worst.
func (e *Engine) linkStatus(c LinkConfig, peers []PeerStatus) LinkStatus {
	sum := LinkStatus{
		Name: c.Name, Interface: c.interfaceName(), Kind: c.Kind, Priority: c.Priority,
		State: Down, Reason: "no peer",
	}
	if c.Disabled {
		sum.State, sum.Reason = Disabled, "disabled"
	}
	if l := e.links[c.Name]; l != nil {
		sum.Port = l.under.Port()
		if info := l.watch.Info(); sum.State == Down && (info.Gone || !info.Up) {
			_, sum.Reason = carrierOf(info)
		}
	}
	for _, p := range peers {
		for _, l := range p.Links {
			if l.Name != c.Name {
				continue
			}
			if l.State.rank() >= sum.State.rank() {
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

// rank orders states from worst to best.
func (s LinkState) rank() int {
	return slices.Index([]LinkState{Disabled, Down, Probing, Suspect, Up}, s)
}

// status is what the bond says, with what only its tunnels know.
func (s *session) status() PeerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.bond.Status(time.Now())
	status.Name, status.PublicKey = s.name, s.key
	for _, l := range s.lanes {
		if l == nil {
			continue
		}
		if stats := l.tunnel.Stats(); stats.Handshake.After(status.Handshake) {
			status.Handshake = stats.Handshake
		}
	}
	return status
}
