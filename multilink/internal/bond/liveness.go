package bond

import (
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"time"
)

// reception is what is known of the direction towards this end.
type reception struct {
	hearing   bool          // the peer is heard
	late      bool          // but what is due has not come for half the limit
	lateSince time.Duration // when that, in either direction, was noticed
	heard     time.Duration // when the last packet came
	steady    time.Duration // since then no packet has been late
	doubted   time.Duration // when silence reached the limit; 0 is not
	cause     string        // of not hearing, for people

	theirInterval   time.Duration // that the peer would like
	theirApplied    time.Duration // at which the peer sends
	theirMultiplier int
	theirSequence   uint32
	theirSent       uint64 // clock of the peer's latest probe
	theirAt         time.Duration
	limit, lateAt   time.Duration // of silence, until it is over or late

	candidate   uint64 // epoch of a peer that has not proved to be there yet
	candidateAt time.Duration
}

const (
	// urgentSpacing keeps probes apart that tell of changes.
	urgentSpacing = time.Millisecond
	// commonSilence is how long all links may be silent before they count as
	// down: nothing is gained by saying so earlier, since there is nowhere to
	// turn to, and a peer that is busy is silent everywhere.
	commonSilence = 300 * time.Millisecond
)

// limits sets how long the link may be silent. The limit is RFC 5880's
// detection time, or what the delay's variation makes necessary.
func (l *link) limits() {
	applied := max(l.theirApplied, l.interval())
	if l.theirApplied == 0 {
		applied = max(slowProbe, l.interval())
	}
	spread := l.spread()
	l.limit = max(applied*time.Duration(max(l.theirMultiplier, l.multiplier())), spread)
	l.lateAt = max(applied*3/2, spread/2)
	l.young = int(min(4*l.rttvar/applied, 128-lossProbes))
}

// hear notes that a packet of the peer arrived.
func (l *link) hear(now time.Duration) {
	if now-l.heard > l.lateAt {
		l.steady = now
	}
	l.heard, l.doubted = now, 0
	l.failed = false
}

// deafen forgets what was heard.
func (l *link) deafen(cause string) {
	l.hearing, l.late, l.doubted, l.cause = false, false, 0, cause
	l.quality.reset()
}

// stalled gives the links the time in which this process did nothing: what
// arrived meanwhile has not been looked at.
func (b *Bond) stalled() {
	shortest := packet.MaxInterval
	for _, l := range b.links {
		if l != nil && l.hearing {
			shortest = min(shortest, l.interval())
		}
	}
	lost := b.now - b.next
	if lost < max(shortest/2, time.Millisecond) || b.next == 0 {
		return
	}
	for _, l := range b.links {
		if l != nil && l.hearing {
			l.heard, l.doubted = min(l.heard+lost, b.now), 0
		}
	}
}

// listen finds links that fell silent.
func (b *Bond) listen() {
	for _, l := range b.links {
		if l == nil || !l.hearing {
			continue
		}
		silence := b.now - l.heard
		late := silence >= l.lateAt
		if late != l.late {
			l.late, b.urgent = late, true
		}
		if !late {
			b.wake(l.heard + l.lateAt)
			continue
		}
		verdict, cause := b.verdictAt(l)
		switch {
		case b.now < verdict:
			l.doubted = 0
			b.wake(verdict)
		case l.doubted == 0:
			// Whoever reads the sockets gets the chance to do so first.
			l.doubted = b.now
			b.wake(b.now + l.confirmation())
		case b.now < l.doubted+l.confirmation():
			b.wake(l.doubted + l.confirmation())
		default:
			l.deafen(cause)
			b.urgent = true
		}
	}
}

// confirmation is how long a verdict waits before it is carried out.
func (l *link) confirmation() time.Duration {
	return min(max(l.interval()/8, 500*time.Microsecond), 5*time.Millisecond)
}

// verdictAt is when the link's silence will have lasted for long enough. Unless
// another link is heard all that time, well after this one fell silent too,
// the silence says more of the peer, or of this process, than of the link.
func (b *Bond) verdictAt(l *link) (time.Duration, string) {
	at, cause := l.heard+max(3*l.limit, commonSilence), "silent, like all links"
	for _, other := range b.links {
		if other == nil || other == l || !other.hearing || other.heard < l.heard+l.limit/2 || b.now-other.heard >= other.lateAt {
			continue
		}
		if compared := max(l.heard, other.steady) + l.limit; compared < at {
			at, cause = compared, "silent"
		}
	}
	return at, cause
}
