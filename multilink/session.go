package multilink

import (
	"slices"
	"time"
)

// peerState is what is known of the other end.
//
// An epoch is one life of a bond. A peer's new epoch is adopted only once a
// probe of it echoes ours: a probe of an earlier life, delayed in a network,
// cannot do so, for it echoes what it heard then.
type peerState struct {
	epoch       uint64     // adopted; 0 is none
	established bool       // the peer has adopted ours
	past        [16]uint64 // epochs that are over, the oldest is overwritten
	pasts       int
	told        bool   // number is that of a probe
	number      uint64 // of the newest probe, on any link
}

// probed takes a probe that arrived over l.
func (b *Bond) probed(l *linkState, h header, p *probe, out *Output) {
	switch {
	case p.epoch == b.epoch || slices.Contains(b.peer.past[:], p.epoch) || h.tag != epochTag(p.epoch):
		return // our own, or one of another life
	case p.epoch != b.peer.epoch && p.echo != b.epoch:
		// Somebody new who does not know us yet. The answer says who we are.
		if l.candidate != p.epoch || b.now-l.candidateAt >= l.interval() {
			l.due = min(l.due, max(b.now, l.lastProbe+urgentSpacing))
		}
		l.candidate, l.candidateAt = p.epoch, b.now
		l.theirInterval = p.interval
		b.probes(out)
		return
	case p.epoch != b.peer.epoch:
		b.adopt(p.epoch)
	}
	l.candidate = 0
	b.attend(l, p)
	if p.echo == b.epoch && p.established && !b.peer.established {
		b.peer.established, b.urgent = true, true
	}
	if !b.peer.told || h.sequence > b.peer.number {
		b.peer.told, b.peer.number = true, h.sequence
		b.window.skip(p.floor)
		if p.echo == b.epoch {
			b.believe(p)
		}
	}
	if l.quality.rate(l.config, b.now, b.waitToRestore()) {
		b.stale = true
	}
	b.settle(out)
}

// adopt makes epoch that of the peer. What was sent to its earlier life is
// forgotten: it may have arrived there.
func (b *Bond) adopt(epoch uint64) {
	if old := b.peer.epoch; old != 0 {
		b.peer.past[b.peer.pasts%len(b.peer.past)] = old
		b.peer.pasts++
		b.replay.forget(b)
	}
	b.peer = peerState{epoch: epoch, past: b.peer.past, pasts: b.peer.pasts}
	b.window.reset()
	b.pieces.reset()
	for _, l := range b.links {
		if l != nil {
			l.deafen("")
			l.peerHears, l.peerLate, l.innocent = false, false, true
			l.theirSent, l.theirSequence = 0, 0
		}
	}
	b.urgent = true
}

// attend notes what a probe says of the link that it came over.
func (b *Bond) attend(l *linkState, p *probe) {
	if !l.hearing {
		l.hearing, l.late, l.cause = true, false, ""
		l.heard, l.steady = b.now, b.now
		l.theirSequence = p.sequence
		l.due = min(l.due, max(b.now, l.lastProbe+urgentSpacing))
		b.urgent = true
	}
	ahead := int32(p.sequence - l.theirSequence)
	l.quality.arrive(ahead)
	if ahead > 0 || l.theirSent == 0 {
		l.theirSequence, l.theirSent, l.theirAt = p.sequence, p.sent, b.now
		l.theirInterval, l.theirApplied, l.theirMultiplier = p.interval, p.applied, int(p.multiplier)
		if applied := l.applied(); l.due > b.now+applied {
			l.due = b.now + applied
			b.wake(l.due)
		}
	}
	if p.echo == b.epoch && p.echoed > l.lastEcho && p.echoed <= b.clock() {
		l.lastEcho = p.echoed
		if rtt := time.Duration(b.clock()-p.echoed) - p.held; rtt >= 0 && rtt < maxRTT {
			l.quality.roundTrip(rtt)
		}
	}
	l.hear(b.now)
	l.limits()
	if l.late {
		l.late, b.urgent = false, true
	}
}

// believe takes what the peer reports of all links, and its acknowledgement.
func (b *Bond) believe(p *probe) {
	for _, l := range b.links {
		if l == nil {
			continue
		}
		var flags uint8
		for _, r := range p.reports {
			if r.link == l.hash {
				flags, l.lossTx = r.flags, r.loss
				break
			}
		}
		l.peerHears, l.peerLate = flags&reportHearing != 0, flags&reportLate != 0
	}
	b.replay.acknowledge(b, p.next, p.spans)
}

// clock is what our probes are stamped with. It is never 0.
func (b *Bond) clock() uint64 { return uint64(b.now) + 1 }

// probes sends those that are due.
func (b *Bond) probes(out *Output) {
	for _, l := range b.links {
		if l == nil || l.config.Disabled || l.carrierLost {
			continue
		}
		if l.due <= b.now {
			b.probe(l, out)
		}
		b.wake(l.due)
	}
}

// probe sends one.
func (b *Bond) probe(l *linkState, out *Output) {
	if l.candidate != 0 && b.now-l.candidateAt > 3*slowProbe {
		l.candidate = 0
	}
	applied := l.applied()
	p := &b.scratch
	*p = probe{epoch: b.epoch, echo: b.peer.epoch, established: b.peer.epoch != 0,
		sequence: l.sequence, sent: b.clock(), interval: l.interval(), applied: applied, multiplier: uint8(l.multiplier()),
		floor: b.replay.floor(b.sequence), next: b.window.next, reports: p.reports[:0], spans: p.spans[:0]}
	if l.candidate != 0 {
		p.echo, p.established = l.candidate, false
	}
	if l.theirSent != 0 {
		p.echoed, p.held = l.theirSent, b.now-l.theirAt
	}
	for _, other := range b.links {
		if other != nil {
			p.reports = append(p.reports, other.report())
		}
	}
	p.spans = b.window.received(p.spans)
	buffer := b.pool.get(maxProbeLen)
	buffer.data = p.append(buffer.data[:0], header{kind: typeProbe, tag: epochTag(b.epoch), sequence: b.number})
	b.number++
	l.sequence++
	l.lastProbe = b.now
	// In step, unless that is long past.
	if l.due += applied; l.due <= b.now || l.due > b.now+applied {
		l.due = b.now + applied
	}
	l.txBytes += uint64(len(buffer.data))
	out.Packets = append(out.Packets, Packet{Link: l.id, Class: -1, Control: true, Buffer: buffer})
}

func (l *linkState) report() report {
	r := report{link: l.hash, loss: uint16(l.lossRx() * 65535)}
	if l.hearing && !l.config.Disabled && !l.carrierLost {
		r.flags |= reportHearing
		if l.late {
			r.flags |= reportLate
		}
	}
	return r
}
