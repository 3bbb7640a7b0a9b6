package bond

import (
	"math"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// urgentSpacing is the least time between two probes of a link that report changes.
const urgentSpacing = time.Millisecond

// peering is the exchange of probes with the peer.
type peering struct {
	*core
	number uint64 // of the next probe
	probe  packet.Probe
}

// origin is where a probe comes from, as its epochs say.
type origin int

const (
	foreign     origin = iota // this end itself, or another life of either end
	unconfirmed               // a life of the peer that does not echo this end yet
	restarted                 // a new life of the peer, which echoes this end
	rival                     // a life of the peer that is over, and answers all the same
	current                   // the peer as it is known
)

// findOrigin returns where the probe in p.probe comes from.
func (p *peering) findOrigin(h packet.Header) origin {
	epoch := p.probe.Epoch
	switch {
	case epoch == p.epoch || h.Tag != packet.EpochTag(epoch):
		return foreign
	case slices.Contains(p.peer.past[:], epoch):
		// What was delayed cannot answer a probe that was sent since.
		if p.echoed() && p.probe.Echoed > p.peer.since && p.probe.Echoed <= p.stamp() {
			return rival
		}
		return foreign
	case epoch != p.peer.epoch && p.probe.Echo != p.epoch:
		return unconfirmed
	case epoch != p.peer.epoch:
		return restarted
	}
	return current
}

// greet schedules an answer to a peer that has not heard this end. It carries the epoch of this end.
func (p *peering) greet(l *link) {
	if l.candidate != p.probe.Epoch || p.now-l.candidateAt >= l.interval() {
		l.due = min(l.due, max(p.now, l.lastProbe+urgentSpacing))
	}
	l.candidate, l.candidateAt = p.probe.Epoch, p.now
	l.theirInterval = p.probe.Interval
}

// adopt makes the epoch of the probe that of the peer. It reports whether the peer
// had another one before.
func (p *peering) adopt() (again bool) {
	if old := p.peer.epoch; old != 0 {
		if at := slices.Index(p.peer.past[:], p.probe.Epoch); at >= 0 {
			p.peer.past[at] = old
		} else {
			p.peer.past[p.peer.pasts%len(p.peer.past)] = old
			p.peer.pasts++
		}
		again = true
	}
	p.peer = peerState{
		epoch: p.probe.Epoch, past: p.peer.past, pasts: p.peer.pasts, since: p.stamp(), heard: p.now,
	}
	for _, l := range p.slots() {
		if l != nil {
			l.loseReception("")
			l.peerHears = false
			l.peerLate = false
			l.exempt = true
			l.theirSent, l.theirSequence = 0, 0
			l.path.Restart()
		}
	}
	p.measure()
	p.urgent = true
	return again
}

// deserted reports whether the current life of the peer has gone.
func (p *peering) deserted() bool { return p.now-p.peer.heard >= desertion }

// displaced reports whether the probe, the newest, shows that the peer has taken another
// instance for this one.
func (p *peering) displaced() bool {
	return p.peer.knew && p.probe.Established && !p.echoed()
}

// yield takes the peer for one that does not know this end any more.
func (p *peering) yield() {
	if !p.peer.established {
		return
	}
	p.peer.established = false
	p.stale = true
	p.urgent = true
	for _, l := range p.slots() {
		if l != nil {
			l.peerHears = false
			l.peerLate = false
			l.exempt = true
		}
	}
}

// record takes from a probe what concerns the link that it came over, and whether
// the peer has adopted this end. It reports whether the probe is the newest of all
// links.
func (p *peering) record(l *link, number uint64) (newest bool) {
	l.candidate = 0
	p.peer.heard = p.now
	p.recordLink(l)
	if p.echoed() && p.probe.Established && !p.peer.established {
		p.peer.established = true
		p.peer.knew = true
		p.urgent = true
	}
	if p.peer.probed && number <= p.peer.number {
		return false
	}
	p.peer.probed, p.peer.number = true, number
	return true
}

// echoed reports whether the probe answers one of this end's present life.
func (p *peering) echoed() bool { return p.probe.Echo == p.epoch }

func (p *peering) recordLink(l *link) {
	probe := &p.probe
	if !l.hearing {
		l.hearing = true
		l.late = false
		l.cause = ""
		l.heard, l.steady = p.now, p.now
		l.theirSequence = probe.Sequence
		l.due = min(l.due, max(p.now, l.lastProbe+urgentSpacing))
		p.urgent = true
	}
	ahead := int32(probe.Sequence - l.theirSequence)
	l.quality.arrive(ahead)
	if probe.Sized && ahead >= 0 && p.echoed() {
		before := l.path.Length()
		l.path.Report(p.now, int(probe.Longest), int(probe.PathMTU))
		if l.path.Length() != before {
			p.measure()
		}
	}
	if ahead > 0 || l.theirSent == 0 {
		l.theirSequence = probe.Sequence
		l.theirSent = probe.Sent
		l.theirAt = p.now
		l.theirInterval = probe.Interval
		l.theirApplied = probe.Applied
		l.theirMultiplier = int(probe.Multiplier)
		if applied := l.applied(); l.due > p.now+applied {
			l.due = p.now + applied
			p.wake(l.due)
		}
	}
	if p.echoed() && probe.Echoed > l.lastEcho && probe.Echoed <= p.stamp() {
		l.lastEcho = probe.Echoed
		if rtt := time.Duration(p.stamp()-probe.Echoed) - probe.Held; rtt >= 0 && rtt < maxRTT {
			l.quality.roundTrip(rtt)
		}
	}
	l.hear(p.now)
	l.setLimits()
	if l.late {
		l.late, p.urgent = false, true
	}
}

// applyReports takes what the peer reports of all links.
func (p *peering) applyReports() {
	for _, l := range p.slots() {
		if l == nil {
			continue
		}
		var flags uint8
		for _, r := range p.probe.Reports {
			if r.Link == l.hash {
				flags, l.lossTx = r.Flags, r.Loss
				break
			}
		}
		l.peerHears, l.peerLate = flags&packet.ReportHearing != 0, flags&packet.ReportLate != 0
	}
}

// hurry makes the next probe of every link due as soon as the spacing allows.
func (p *peering) hurry() {
	for _, l := range p.slots() {
		if l != nil && !l.config.Disabled && !l.carrierLost {
			l.due = min(l.due, max(p.now, l.lastProbe+urgentSpacing))
		}
	}
}

// send sends the probes that are due. They say what this end has received, and the
// lowest sequence number that it may still send.
func (p *peering) send(floor uint64, received *window, out *Output) {
	for _, l := range p.slots() {
		if l == nil || l.config.Disabled || l.carrierLost {
			continue
		}
		if l.due <= p.now {
			p.sendOne(l, floor, received, out)
		}
		p.wake(l.due)
	}
}

// trial returns how long the next probe of a link should be. What the search has found so far
// holds from then on.
func (p *peering) trial(l *link) int {
	before := l.path.Length()
	size := l.nextTrial(p.now)
	if l.path.Length() != before {
		p.measure()
	}
	return size
}

func (p *peering) sendOne(l *link, floor uint64, received *window, out *Output) {
	if l.candidate != 0 && p.now-l.candidateAt > 3*slowProbe {
		l.candidate = 0
	}
	applied := l.applied()
	probe := &p.probe
	*probe = packet.Probe{
		Epoch: p.epoch, Echo: p.peer.epoch, Established: p.peer.epoch != 0,
		Sequence: l.sequence, Sent: p.stamp(),
		Interval: l.interval(), Applied: applied, Multiplier: uint8(l.multiplier()),
		Sized: true, Longest: uint16(min(l.path.Longest(p.now, l.mtuPeriod()), math.MaxUint16)), PathMTU: uint16(l.path.Proven()),
		Floor: floor, Next: received.next, Contested: p.peerKey.lasts(p.now),
		Reports: probe.Reports[:0], Spans: probe.Spans[:0],
	}
	if l.candidate != 0 {
		probe.Echo, probe.Established = l.candidate, false
	}
	if l.theirSent != 0 {
		probe.Echoed, probe.Held = l.theirSent, p.now-l.theirAt
	}
	for _, other := range p.slots() {
		if other != nil {
			probe.Reports = append(probe.Reports, other.report())
		}
	}
	probe.Spans = received.received(probe.Spans)
	buffer := probe.Encode(p.pool, packet.Header{
		Kind: packet.TypeProbe, Tag: packet.EpochTag(p.epoch), Sequence: p.number,
	}, p.trial(l))
	p.number++
	l.sequence++
	l.lastProbe = p.now
	// At a steady pace, unless that is long past.
	if l.due += applied; l.due <= p.now || l.due > p.now+applied {
		l.due = p.now + applied
	}
	l.txBytes += uint64(len(buffer.Data()))
	out.Packets = append(out.Packets, packet.Packet{Link: l.id, Class: -1, Control: true, Buffer: buffer})
}
