package bond

import "time"

// reception is the state of a link's direction towards this end.
type reception struct {
	hearing     bool          // packets of the peer arrive
	late        bool          // but what is due has not come for half the limit
	lateSince   time.Duration // when that, in either direction, was noticed
	heard       time.Duration // when the last packet came, or later by what this process stalled
	came        time.Duration // when it came
	steady      time.Duration // since then no packet has been late
	silentSince time.Duration // when silence reached the limit; 0 is not
	cause       string        // of not hearing, for people

	theirInterval   time.Duration // that the peer requests
	theirApplied    time.Duration // at which the peer sends
	theirMultiplier int
	theirSequence   uint32
	theirSent       uint64 // stamp of the peer's latest probe
	theirAt         time.Duration
	limit, lateAt   time.Duration // of silence, until the link is down or late

	candidate   uint64 // epoch of a peer that has not echoed ours yet; 0 means none
	candidateAt time.Duration
}

// setLimits sets how long the link may be silent. The limit is RFC 5880's
// detection time, or what the delay's variation makes necessary.
func (l *link) setLimits() {
	applied := max(l.theirApplied, l.interval())
	if l.theirApplied == 0 {
		applied = max(slowProbe, l.interval())
	}
	spread := l.spread()
	l.limit = max(applied*time.Duration(max(l.theirMultiplier, l.multiplier())), spread)
	l.lateAt = max(applied*3/2, spread/2)
	l.young = int(min(4*l.rttvar/applied, 128-lossProbes))
}

// hear records that a packet of the peer arrived.
func (l *link) hear(now time.Duration) {
	if now-l.heard > l.lateAt {
		l.steady = now
	}
	l.heard = now
	l.came = now
	l.silentSince = 0
	l.failed = false
}

// loseReception resets the direction towards this end.
func (l *link) loseReception(cause string) {
	l.hearing = false
	l.late = false
	l.silentSince = 0
	l.cause = cause
	l.quality.reset()
}

// confirmation returns how long a deadline that has passed is checked again before the
// link counts as silent.
func (l *link) confirmation() time.Duration {
	return min(max(l.interval()/8, 500*time.Microsecond), 5*time.Millisecond)
}
