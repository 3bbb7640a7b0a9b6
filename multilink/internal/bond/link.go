package bond

import (
	"cmp"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
	"time"
)

// linkState is what a bond knows of one of its links. All times are since the
// start of the bond.
type link struct {
	id     packet.LinkID
	config settings.Link
	hash   uint32 // of the name: what the peer calls it
	mtu    int

	state       status.State
	changed     time.Duration
	reason      string
	carrierLost bool
	failed      bool // a tunnel said so, and nothing was heard since
	overQuota   bool
	carries     bool // frames of some class
	asked       bool // a link that carries frames is late: this one may take over

	// Waiting to be used again.
	behaves  time.Duration // since then, while Probing
	wait     time.Duration
	innocent bool // it is down for reasons that are not its own: no wait
	relapses int
	relapsed time.Duration // when it went down last
	everUp   bool

	reception
	quality

	// Sending of probes.
	sequence  uint32
	due       time.Duration
	lastProbe time.Duration

	// What the peer says of the other direction.
	peerHears, peerLate bool

	// Frames that were sent over this link alone up to repairUpTo and are not
	// acknowledged at repairAt were lost in a gap too short for a failover.
	repairAt, repairUpTo time.Duration

	txBytes, rxBytes uint64
}

func (l *link) bit() uint32 { return 1 << l.id }

// interval is what the administrator asked for, or the default.
func (l *link) interval() time.Duration {
	switch {
	case l.asked:
		return min(cmp.Or(l.config.Probe.Interval, defaultProbe), defaultProbe)
	case l.config.Probe.Interval != 0:
		return l.config.Probe.Interval
	case l.config.Metered && !l.carries:
		return meteredProbe
	default:
		return defaultProbe
	}
}

func (l *link) multiplier() int {
	if l.config.Probe.Multiplier == 0 {
		return defaultMultiple
	}
	return l.config.Probe.Multiplier
}

// slowProbe is the interval on a link on which nobody answers (RFC 5880
// section 6.8.3).
const slowProbe = time.Second

// applied is the interval at which probes go out now: the slower of what the
// two ends want, and slow while nothing is heard.
func (l *link) applied() time.Duration {
	if !l.hearing && l.candidate == 0 {
		return max(l.interval(), slowProbe)
	}
	if l.asked {
		return l.interval() // whatever the peer would like: it may not know yet
	}
	return max(l.interval(), l.theirInterval)
}

// alive reports whether frames can cross the link as far as is known.
func (l *link) alive() bool {
	return !l.config.Disabled && !l.carrierLost && !l.failed && l.hearing && l.peerHears
}

// usable reports whether the link may carry frames.
func (l *link) usable() bool {
	return l.state == status.Up || l.state == status.Suspect || l.state == status.Probing
}

// tardy reports whether either direction is late.
func (l *link) tardy() bool { return l.late || l.peerLate }

const (
	defaultProbe    = 10 * time.Millisecond
	meteredProbe    = 200 * time.Millisecond
	defaultMultiple = 3

	maxRelapses  = 5 // doublings of the wait
	relapseSpan  = time.Minute
	defaultWait  = 500 * time.Millisecond
	reasonAnswer = "the peer answers"
)

// blame remembers that the link went down, and how often it did lately.
func (l *link) blame(now time.Duration) {
	ago := now - l.relapsed
	switch {
	case !l.everUp || l.relapsed == 0:
		l.relapses = 0
	case ago < relapseSpan:
		l.relapses = min(l.relapses+1, maxRelapses)
	default:
		l.relapses = max(0, l.relapses-int(ago/relapseSpan))
	}
	l.relapsed = now
}

// settle brings the state of every link up to date, then the choice of links,
// and says what changed.
func (b *Bond) settle(out *Output) {
	for _, l := range b.links {
		if l != nil {
			b.judge(l, out)
		}
	}
	b.promote(out)
	if b.stale {
		b.reselect(out)
	}
	b.ask()
	b.pump(out)
	if b.urgent {
		b.urgent = false
		for _, l := range b.links {
			if l != nil && !l.config.Disabled && !l.carrierLost {
				l.due = min(l.due, max(b.now, l.lastProbe+urgentSpacing))
			}
		}
		b.probes(out)
	}
}

// ask has links that are seldom probed be probed often while one that carries
// frames is late.
func (b *Bond) ask() {
	doubt := false
	for _, l := range b.links {
		doubt = doubt || l != nil && l.carries && l.hearing && l.tardy()
	}
	for _, l := range b.links {
		if l != nil && l.asked != doubt {
			l.asked = doubt
			l.limits()
			b.urgent = b.urgent || doubt
		}
	}
}

// judge moves a link between its states.
func (b *Bond) judge(l *link, out *Output) {
	alive := l.alive() && b.peer.established
	switch {
	case l.config.Disabled:
		b.enter(l, status.Disabled, "by the administrator", out)
	case !alive:
		b.enter(l, status.Down, b.why(l), out)
	case l.state == status.Down || l.state == status.Disabled:
		l.wait, l.behaves = b.waitToRestore()<<l.relapses, b.now
		if l.innocent || !l.everUp {
			l.wait = 0
		}
		b.enter(l, status.Probing, reasonAnswer, out)
	}
	if l.state == status.Probing {
		// Being late does not begin the wait anew: on a busy machine every
		// link is late now and then. It only has to be over at the end.
		if b.now-l.behaves >= l.wait && !l.tardy() {
			l.everUp, l.innocent = true, false
			b.enter(l, status.Up, reasonAnswer, out)
		} else if b.now-l.behaves < l.wait {
			b.wake(l.behaves + l.wait)
		}
	}
	switch {
	case l.state == status.Up && l.tardy():
		b.enter(l, status.Suspect, "late", out)
	case l.state == status.Up && l.poor:
		b.enter(l, status.Suspect, l.poorReason, out)
	case l.state == status.Suspect && !l.tardy() && !l.poor:
		b.enter(l, status.Up, "good again", out)
	}
}

// promote spares a link the waiting where there is no other.
func (b *Bond) promote(out *Output) {
	var first *link
	for _, l := range b.links {
		switch {
		case l == nil:
		case l.state == status.Up || l.state == status.Suspect:
			return
		case l.state == status.Probing && (first == nil || l.config.Priority < first.config.Priority):
			first = l
		}
	}
	if first != nil {
		first.everUp, first.innocent = true, false
		b.enter(first, status.Up, "the peer answers, and no other link is up", out)
	}
}

// why says in words why a link is not alive, the nearest cause first.
func (b *Bond) why(l *link) string {
	switch {
	case l.carrierLost, l.failed:
		return l.cause
	case !b.peer.established && l.hearing:
		return "the peer is new"
	case !l.hearing && l.cause != "":
		return l.cause
	case !l.hearing:
		return "nothing heard"
	default:
		return "the peer hears nothing"
	}
}

// enter changes the state of a link, where it is another one.
func (b *Bond) enter(l *link, state status.State, reason string, out *Output) {
	if l.state == state {
		return
	}
	was := l.state
	l.state, l.reason, l.changed = state, reason, b.now
	b.stale, b.urgent = true, true
	out.Events = append(out.Events, status.Event{Time: b.time(), Type: "link", Link: l.config.Name, State: state, Reason: reason})
	switch state {
	case status.Down, status.Disabled:
		if was == status.Up || was == status.Suspect {
			if state == status.Down && !l.innocent {
				l.blame(b.now)
			}
		}
		l.repairAt, l.poor = 0, false
		b.replay.lost(b, l.bit())
		b.hold = 0
	case status.Up:
		if was == status.Suspect && l.lateSince > 0 {
			l.repairUpTo = b.now
			l.repairAt = b.now + l.spread() + 2*l.applied()
			b.wake(l.repairAt)
		}
		l.lateSince = 0
	case status.Suspect:
		if l.tardy() {
			l.lateSince = b.now
		}
	}
}

func (b *Bond) waitToRestore() time.Duration {
	if b.config.WaitToRestore == 0 {
		return defaultWait
	}
	return b.config.WaitToRestore
}
