package status

import (
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
)

// State is the state of a link, by the worse of its two
// directions.
type State string

// The states of a link. A link carries frames in Up, and in Suspect until
// another one takes over.
const (
	// Disabled by the administrator.
	Disabled State = "disabled"
	// Down: nothing is heard, or the carrier is gone.
	Down State = "down"
	// Probing: heard again, and not yet used, until it has stayed for a while.
	Probing State = "probing"
	// Up: in use or ready for it.
	Up State = "up"
	// Suspect: late, but not for long enough to be down, or beyond its limits
	// of loss and delay.
	Suspect State = "suspect"
)

// Link is a link as this instance sees it. Where a server has several
// peers, State is the best of any, and the figures are sums, and worst cases over the
// peers for which it is not Down, if there are any.
type Link struct {
	Name, Interface string
	Kind            settings.Kind
	Priority        int
	State           State
	// Active is true while the link carries the frames of a peer.
	Active bool
	// RTT is the smoothed round trip, Jitter its variation. Zero is unknown, as on a
	// link that is Down.
	RTT, Jitter time.Duration
	// Loss is the fraction of probes that did not arrive, by direction, over
	// about the last hundred. It is 1 in a direction in which a link is Down, and 0
	// where it is Disabled or has no peer.
	LossTx, LossRx float64
	// PathMTU is the longest packet of IP that is known to cross the link in both
	// directions, in bytes. Zero is unknown: the link is not up, or the peer is of a
	// release that does not report it.
	PathMTU int
	// Bytes of packets since the link was added.
	TxBytes, RxBytes uint64
	// Port is the UDP port of this end.
	Port       uint16
	LastChange time.Time
	// Reason of the last change, for people.
	Reason string
}

// Measured sets the figures to the worst of those that peers measure on the link. Peers for which it
// is down count only where it is down for all: they say nothing about a link that carries.
func (l *Link) Measured(by []Link) {
	if slices.ContainsFunc(by, Link.crosses) {
		by = slices.DeleteFunc(slices.Clone(by), func(one Link) bool { return !one.crosses() })
	}
	for _, one := range by {
		if one.PathMTU > 0 && (l.PathMTU == 0 || one.PathMTU < l.PathMTU) {
			l.PathMTU = one.PathMTU
		}
		l.RTT, l.Jitter = max(l.RTT, one.RTT), max(l.Jitter, one.Jitter)
		l.LossTx, l.LossRx = max(l.LossTx, one.LossTx), max(l.LossRx, one.LossRx)
	}
}

// crosses reports whether something arrives by the link.
func (l Link) crosses() bool { return l.State != Down && l.State != Disabled }
