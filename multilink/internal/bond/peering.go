package bond

import (
	"github.com/iotenablers/enablers/multilink/internal/packet"
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
func (b *Bond) probed(l *link, h packet.Header, p *packet.Probe, out *Output) {
	switch {
	case p.Epoch == b.epoch || slices.Contains(b.peer.past[:], p.Epoch) || h.Tag != packet.EpochTag(p.Epoch):
		return // our own, or one of another life
	case p.Epoch != b.peer.epoch && p.Echo != b.epoch:
		// Somebody new who does not know us yet. The answer says who we are.
		if l.candidate != p.Epoch || b.now-l.candidateAt >= l.interval() {
			l.due = min(l.due, max(b.now, l.lastProbe+urgentSpacing))
		}
		l.candidate, l.candidateAt = p.Epoch, b.now
		l.theirInterval = p.Interval
		b.probes(out)
		return
	case p.Epoch != b.peer.epoch:
		b.adopt(p.Epoch)
	}
	l.candidate = 0
	b.attend(l, p)
	if p.Echo == b.epoch && p.Established && !b.peer.established {
		b.peer.established, b.urgent = true, true
	}
	if !b.peer.told || h.Sequence > b.peer.number {
		b.peer.told, b.peer.number = true, h.Sequence
		b.window.skip(p.Floor)
		if p.Echo == b.epoch {
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
	b.pieces.Reset()
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
func (b *Bond) attend(l *link, p *packet.Probe) {
	if !l.hearing {
		l.hearing, l.late, l.cause = true, false, ""
		l.heard, l.steady = b.now, b.now
		l.theirSequence = p.Sequence
		l.due = min(l.due, max(b.now, l.lastProbe+urgentSpacing))
		b.urgent = true
	}
	ahead := int32(p.Sequence - l.theirSequence)
	l.quality.arrive(ahead)
	if ahead > 0 || l.theirSent == 0 {
		l.theirSequence, l.theirSent, l.theirAt = p.Sequence, p.Sent, b.now
		l.theirInterval, l.theirApplied, l.theirMultiplier = p.Interval, p.Applied, int(p.Multiplier)
		if applied := l.applied(); l.due > b.now+applied {
			l.due = b.now + applied
			b.wake(l.due)
		}
	}
	if p.Echo == b.epoch && p.Echoed > l.lastEcho && p.Echoed <= b.clock() {
		l.lastEcho = p.Echoed
		if rtt := time.Duration(b.clock()-p.Echoed) - p.Held; rtt >= 0 && rtt < maxRTT {
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
func (b *Bond) believe(p *packet.Probe) {
	for _, l := range b.links {
		if l == nil {
			continue
		}
		var flags uint8
		for _, r := range p.Reports {
			if r.Link == l.hash {
				flags, l.lossTx = r.Flags, r.Loss
				break
			}
		}
		l.peerHears, l.peerLate = flags&packet.ReportHearing != 0, flags&packet.ReportLate != 0
	}
	b.replay.acknowledge(b, p.Next, p.Spans)
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
func (b *Bond) probe(l *link, out *Output) {
	if l.candidate != 0 && b.now-l.candidateAt > 3*slowProbe {
		l.candidate = 0
	}
	applied := l.applied()
	p := &b.scratch
	*p = packet.Probe{Epoch: b.epoch, Echo: b.peer.epoch, Established: b.peer.epoch != 0,
		Sequence: l.sequence, Sent: b.clock(), Interval: l.interval(), Applied: applied, Multiplier: uint8(l.multiplier()),
		Floor: b.replay.floor(b.sequence), Next: b.window.next, Reports: p.Reports[:0], Spans: p.Spans[:0]}
	if l.candidate != 0 {
		p.Echo, p.Established = l.candidate, false
	}
	if l.theirSent != 0 {
		p.Echoed, p.Held = l.theirSent, b.now-l.theirAt
	}
	for _, other := range b.links {
		if other != nil {
			p.Reports = append(p.Reports, other.report())
		}
	}
	p.Spans = b.window.received(p.Spans)
	buffer := p.Encode(b.pool, packet.Header{Kind: packet.TypeProbe, Tag: packet.EpochTag(b.epoch), Sequence: b.number})
	b.number++
	l.sequence++
	l.lastProbe = b.now
	// In step, unless that is long past.
	if l.due += applied; l.due <= b.now || l.due > b.now+applied {
		l.due = b.now + applied
	}
	l.txBytes += uint64(len(buffer.Data()))
	out.Packets = append(out.Packets, packet.Packet{Link: l.id, Class: -1, Control: true, Buffer: buffer})
}

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
