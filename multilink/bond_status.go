package multilink

import (
	"slices"
	"time"
)

// Status is how the bond is doing. The name, key, addresses and handshake of
// the peer and the ports of the links are for the caller to fill in.
func (b *Bond) Status(now time.Time) PeerStatus {
	b.advance(now)
	status := PeerStatus{Counters: b.counters}
	status.Counters.Incomplete = b.pieces.incomplete
	for _, l := range b.links {
		if l == nil {
			continue
		}
		status.Connected = status.Connected || l.state == Up || l.state == Suspect
		status.Links = append(status.Links, b.linkStatus(l))
	}
	slices.SortFunc(status.Links, func(a, b LinkStatus) int { return a.Priority - b.Priority })
	if active := b.plans[0].current; active >= 0 {
		status.ActiveLink = b.links[active].config.Name
	}
	return status
}

func (b *Bond) linkStatus(l *linkState) LinkStatus {
	s := LinkStatus{
		Name: l.config.Name, Interface: l.config.Interface, Kind: l.config.Kind, Priority: l.config.Priority,
		State: l.state, Active: l.carries, RTT: l.srtt, Jitter: l.rttvar, LossTx: float64(l.lossTx) / 65535, LossRx: l.lossRx(),
		TxBytes: l.txBytes, RxBytes: l.rxBytes, LastChange: b.time().Add(l.changed - b.now), Reason: l.reason,
	}
	if s.Interface == "" {
		s.Interface = s.Name
	}
	return s
}
