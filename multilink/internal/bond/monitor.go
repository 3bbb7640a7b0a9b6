package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// monitor keeps the state of every link: down, probing, up or suspect.
type monitor struct {
	*core
	lost uint32 // links that went down and whose packets are not yet sent again
}

// commonSilence is how long all links may be silent before they count as down.
// To report it earlier gains nothing, since there is no link to move to, and a
// peer that is busy is silent on all of them.
const commonSilence = 300 * time.Millisecond

const (
	reasonAnswer = "the peer answers"
	reasonHeard  = "heard again, not used yet"
)

// evaluate brings the state of every link up to date.
func (m *monitor) evaluate(out *Output) {
	for _, l := range m.slots() {
		if l != nil {
			m.evaluateLink(l, out)
		}
	}
	m.promote(out)
}

// takeLost returns the links that went down since the last call.
func (m *monitor) takeLost() uint32 {
	lost := m.lost
	m.lost = 0
	return lost
}

// evaluateLink moves a link between its states.
func (m *monitor) evaluateLink(l *link, out *Output) {
	alive := l.alive() && m.peer.established
	switch {
	case l.config.Disabled:
		m.enter(l, status.Disabled, "by the administrator", out)
	case !alive:
		m.enter(l, status.Down, m.downReason(l), out)
	case l.state == status.Down || l.state == status.Disabled:
		l.wait, l.probingSince = m.waitToRestore()<<l.relapses, m.now
		if l.exempt || !l.everUp {
			l.wait = 0
		}
		m.enter(l, status.Probing, reasonHeard, out)
	}
	if l.state == status.Probing {
		// Being late does not restart the wait: on a busy machine every link is
		// late now and then. It must only be over at the end.
		if m.now-l.probingSince >= l.wait && !l.anyLate() {
			l.everUp, l.exempt = true, false
			m.enter(l, status.Up, reasonAnswer, out)
		} else if m.now-l.probingSince < l.wait {
			m.wake(l.probingSince + l.wait)
		}
	}
	switch {
	case l.state == status.Up && l.anyLate():
		m.enter(l, status.Suspect, "late", out)
	case l.state == status.Up && l.poor:
		m.enter(l, status.Suspect, l.poorReason, out)
	case l.state == status.Suspect && !l.anyLate() && !l.poor && l.came > l.changed:
		m.enter(l, status.Up, "good again", out)
	}
}

// promote takes a link up without its wait where no other link is up.
func (m *monitor) promote(out *Output) {
	var first *link
	for _, l := range m.slots() {
		switch {
		case l == nil:
		case l.state == status.Up || l.state == status.Suspect:
			return
		case l.state == status.Probing && (first == nil || l.config.Priority < first.config.Priority):
			first = l
		}
	}
	if first != nil {
		first.everUp, first.exempt = true, false
		m.enter(first, status.Up, "the peer answers, and no other link is up", out)
	}
}

// downReason returns why a link is not alive, for people. The nearest cause comes first.
func (m *monitor) downReason(l *link) string {
	switch {
	case l.carrierLost, l.failed:
		return l.cause
	case m.ownKey.lasts(m.now):
		return m.ownKey.reason
	case !m.peer.established && l.hearing:
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
func (m *monitor) enter(l *link, state status.State, reason string, out *Output) {
	if l.state == state {
		return
	}
	was := l.state
	l.state = state
	l.reason = reason
	l.changed = m.now
	m.stale, m.urgent = true, true
	out.Events = append(out.Events, status.Event{
		Time: m.wall, Type: "link", Link: l.config.Name, State: state, Reason: reason,
	})
	switch state {
	case status.Down, status.Disabled:
		if state == status.Down && (was == status.Up || was == status.Suspect) && !l.exempt {
			l.countRelapse(m.now)
		}
		l.repairAt, l.poor = 0, false
		m.lost |= l.bit()
		l.path.Doubt(m.now)
	case status.Up:
		if was == status.Suspect && l.lateSince > 0 {
			l.repairUpTo = m.now
			l.repairAt = m.now + l.spread() + 2*l.applied()
			m.wake(l.repairAt)
		}
		l.lateSince = 0
	case status.Suspect:
		if l.anyLate() {
			l.lateSince = m.now
		}
	}
}

// alertBackups has links that are seldom probed be probed often while one that
// carries frames is late.
func (m *monitor) alertBackups() {
	alert := false
	for _, l := range m.slots() {
		alert = alert || (l != nil && l.carries && l.hearing && l.anyLate())
	}
	for _, l := range m.slots() {
		if l != nil && l.alerted != alert {
			l.alerted = alert
			l.setLimits()
			m.urgent = m.urgent || alert
		}
	}
}

// forgiveStall gives the links the time in which this process did nothing: what
// arrived meanwhile has not been read.
func (m *monitor) forgiveStall() {
	shortest := settings.MaxProbeInterval
	for _, l := range m.slots() {
		if l != nil && l.hearing {
			shortest = min(shortest, l.interval())
		}
	}
	stall := m.now - m.next
	if stall < max(shortest/2, time.Millisecond) || m.next == 0 {
		return
	}
	for _, l := range m.slots() {
		if l != nil && l.hearing {
			l.heard, l.silentSince = min(l.heard+stall, m.now), 0
		}
	}
}

// detectSilence finds links that fell silent.
func (m *monitor) detectSilence() {
	for _, l := range m.slots() {
		if l == nil || !l.hearing {
			continue
		}
		late := m.now-l.heard >= l.lateAt
		if late != l.late {
			l.late, m.urgent = late, true
		}
		if !late {
			m.wake(l.heard + l.lateAt)
			continue
		}
		deadline, cause := m.nextDeadline(l)
		switch {
		case m.now < deadline:
			l.silentSince = 0
			m.wake(deadline)
		case l.silentSince == 0:
			// The goroutines that read the sockets get the chance to do so first.
			l.silentSince = m.now
			m.wake(m.now + l.confirmation())
		case m.now < l.silentSince+l.confirmation():
			m.wake(l.silentSince + l.confirmation())
		default:
			l.loseReception(cause)
			m.urgent = true
		}
	}
}

// nextDeadline returns when the link's silence has lasted for too long. Unless another
// link is heard all that time, well after this one fell silent, the silence says
// more of the peer, or of this process, than of the link.
func (m *monitor) nextDeadline(l *link) (at time.Duration, cause string) {
	at, cause = l.heard+max(3*l.limit, commonSilence), "silent, like all links"
	for _, other := range m.slots() {
		if other == nil || other == l || !other.hearing ||
			other.heard < l.heard+l.limit/2 || m.now-other.heard >= other.lateAt {
			continue
		}
		if compared := max(l.heard, other.steady) + l.limit; compared < at {
			at, cause = compared, "silent"
		}
	}
	return at, cause
}
