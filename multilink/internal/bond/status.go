package bond

import (
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/status"
)

// Status is what a bond reports. The caller adds what a bond does not have:
// the name and key of the peer, the time of the handshake and the ports of the links.
type Status struct {
	// Connected is true while any link is Up or Suspect.
	Connected bool
	// ActiveLink carries the frames. Empty means none.
	ActiveLink string
	// Conflict says that another instance uses the key of this end, or of the peer.
	// Empty means none.
	Conflict string
	Links    []status.Link // by priority
	Counters status.Counters
}

// Status reports the state of the bond and its links.
func (b *Bond) Status(now time.Time) Status {
	b.advance(now)
	current := Status{Counters: b.counters, Conflict: b.conflict()}
	current.Counters.Incomplete = b.receiver.pieces.Incomplete
	for _, l := range b.slots() {
		if l == nil {
			continue
		}
		current.Connected = current.Connected || l.state == status.Up || l.state == status.Suspect
		current.Links = append(current.Links, b.linkStatus(l))
	}
	slices.SortFunc(current.Links, func(a, b status.Link) int { return a.Priority - b.Priority })
	if active := b.selector.selections[0].current; active >= 0 {
		current.ActiveLink = b.links[active].config.Name
	}
	return current
}

func (b *Bond) linkStatus(l *link) status.Link {
	s := status.Link{
		Name: l.config.Name, Interface: l.config.Interface, Kind: l.config.Kind, Priority: l.config.Priority,
		State: l.state, Active: l.carries, RTT: l.srtt, Jitter: l.rttvar, LossTx: float64(l.lossTx) / 65535, LossRx: l.lossRx(),
		PathMTU: l.path.Known(), TxBytes: l.txBytes, RxBytes: l.rxBytes, LastChange: b.wall.Add(l.changed - b.now), Reason: l.reason,
	}
	if s.Interface == "" {
		s.Interface = s.Name
	}
	switch l.state {
	case status.Disabled:
		s.RTT = 0
		s.Jitter = 0
		s.LossTx = 0
		s.LossRx = 0
		s.PathMTU = 0
	case status.Down:
		s.RTT = 0
		s.Jitter = 0
		s.PathMTU = 0
		if !l.hearing {
			s.LossRx = 1
		}
		if !l.peerHears || l.carrierLost || l.failed || !b.hearing() {
			s.LossTx = 1
		}
	}
	return s
}
