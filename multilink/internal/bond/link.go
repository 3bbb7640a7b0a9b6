package bond

import (
	"cmp"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/internal/pathmtu"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// link is the state of one link of a bond. All times are since the start of the
// bond.
type link struct {
	id     packet.LinkID
	config settings.Link
	hash   uint32 // of the name: identifies the link in probes
	path   pathmtu.Search

	state       status.State
	changed     time.Duration
	reason      string
	carrierLost bool
	failed      bool // its tunnel reported a failure, and nothing was heard since
	overQuota   bool
	carries     bool // frames of some class
	alerted     bool // a link that carries frames is late: this one may take over

	// Waiting to be used again.
	probingSince time.Duration
	wait         time.Duration
	exempt       bool // it went down for a reason that is not its own: no wait
	relapses     int
	relapsed     time.Duration // when it went down last
	everUp       bool

	reception
	quality

	// Sending of probes.
	sequence  uint32
	due       time.Duration
	lastProbe time.Duration

	// What the peer reports of the other direction.
	peerHears, peerLate bool

	// Frames that were sent over this link alone up to repairUpTo and are not
	// acknowledged at repairAt were lost in a gap too short for a failover.
	repairAt, repairUpTo time.Duration

	txBytes, rxBytes uint64
}

// slowProbe is the interval of probes on a link on which the peer does not answer
// (RFC 5880 section 6.8.3).
const slowProbe = time.Second

func (l *link) bit() uint32 { return 1 << l.id }

// interval returns the configured interval of probes, or the default.
func (l *link) interval() time.Duration {
	switch {
	case l.alerted:
		return min(cmp.Or(l.config.Probe.Interval, settings.DefaultProbeInterval), settings.DefaultProbeInterval)
	case l.config.Probe.Interval != 0:
		return l.config.Probe.Interval
	case l.config.Metered && !l.carries:
		return settings.MeteredProbeInterval
	default:
		return settings.DefaultProbeInterval
	}
}

func (l *link) multiplier() int {
	return cmp.Or(l.config.Probe.Multiplier, settings.DefaultProbeMultiplier)
}

// applied returns the interval at which probes are sent now: the slower of the two
// ends' intervals, and slow while nothing is heard.
func (l *link) applied() time.Duration {
	if !l.hearing && l.candidate == 0 {
		return max(l.interval(), slowProbe)
	}
	if l.alerted {
		return l.interval() // even if the peer's is slower: it may not have noticed yet
	}
	return max(l.interval(), l.theirInterval)
}

// alive reports whether frames can cross the link, as far as is known.
func (l *link) alive() bool {
	return !l.config.Disabled && !l.carrierLost && !l.failed && l.hearing && l.peerHears
}

// usable reports whether the link may carry frames.
func (l *link) usable() bool {
	return l.state == status.Up || l.state == status.Suspect || l.state == status.Probing
}

// anyLate reports whether either direction is late.
func (l *link) anyLate() bool { return l.late || l.peerLate }

// count counts bytes of packets. It reports whether the quota is exceeded by them.
func (l *link) count(sent, received int) (exceeded bool) {
	l.txBytes += uint64(sent)
	l.rxBytes += uint64(received)
	if l.config.Quota > 0 && !l.overQuota && l.txBytes+l.rxBytes >= l.config.Quota {
		l.overQuota = true
		return true
	}
	return false
}

// countRelapse counts that the link went down, among the recent times.
func (l *link) countRelapse(now time.Duration) {
	ago := now - l.relapsed
	switch {
	case !l.everUp || l.relapsed == 0:
		l.relapses = 0
	case ago < settings.RelapseSpan:
		l.relapses = min(l.relapses+1, settings.MaxRelapses)
	default:
		l.relapses = max(0, l.relapses-int(ago/settings.RelapseSpan))
	}
	l.relapsed = now
}

// report returns what a probe says about the link.
func (l *link) report() packet.Report {
	r := packet.Report{Link: l.hash, Loss: uint16(l.lossRx() * 65535)}
	if l.hearing && !l.config.Disabled && !l.carrierLost {
		r.Flags |= packet.ReportHearing
		if l.late {
			r.Flags |= packet.ReportLate
		}
	}
	return r
}

// mtuPeriod returns the time over which the longest packet that arrives is reported.
func (l *link) mtuPeriod() time.Duration { return 2 * l.applied() }

// nextTrial returns the length of the probe that is sent next.
func (l *link) nextTrial(now time.Duration) int {
	if !l.alive() {
		l.path.Abandon()
		return 0
	}
	confirm, raise := pathmtu.Confirm, pathmtu.Raise
	if l.config.Metered {
		confirm, raise = pathmtu.Patience, pathmtu.Patience
	}
	return l.path.Next(now, l.limit+l.applied()+l.theirApplied, confirm, raise)
}
