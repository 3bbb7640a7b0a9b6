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
	var carrying uint32
	for i := range b.plans {
		carrying |= b.plans[i].targets
	}
	for _, l := range b.links {
		if l == nil {
			continue
		}
		status.Connected = status.Connected || l.state == Up || l.state == Suspect
		status.Links = append(status.Links, l.status(carrying&l.bit() != 0))
	}
	slices.SortFunc(status.Links, func(a, b LinkStatus) int { return a.Priority - b.Priority })
	if active := b.plans[0].current; active >= 0 {
		status.ActiveLink = b.links[active].config.Name
	}
	return status
}

func (l *linkState) status(active bool) LinkStatus {
	s := LinkStatus{
		Name: l.config.Name, Interface: l.config.Interface, Kind: l.config.Kind, Priority: l.config.Priority,
		State: l.state, Active: active, RTT: l.srtt, Jitter: l.rttvar, LossTx: float64(l.lossTx) / 65535, LossRx: l.lossRx(),
		TxBytes: l.txBytes, RxBytes: l.rxBytes, LastChange: l.changed, Reason: l.reason,
	}
	if s.Interface == "" {
		s.Interface = s.Name
	}
	return s
}
