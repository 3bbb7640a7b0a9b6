package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// Send takes a frame for the peer and appends the packets to send. It copies the
// frame. The class is an index into those of Configure, -1 for the bond's
// defaults; flow is a hash that identifies the frame's flow.
//
// While no link is usable frames wait, as long and as many as the replay buffer
// may keep.
func (b *Bond) Send(now time.Time, frame []byte, class int, flow uint32, out *Output) {
	b.advance(now)
	class = b.selector.known(class)
	sel := b.selector.of(class)
	if len(frame) == 0 || len(frame) > packet.MaxFrame || b.sender.unsendable(sel) {
		b.counters.Dropped++
		return
	}
	b.sender.replay.expire(b.replayAge())
	b.sender.pacer.offer(b.now, len(frame))
	b.counters.TxFrames++
	b.counters.TxBytes += uint64(len(frame))
	if size := packet.HeaderSize + len(frame); size <= b.mtu || !b.sender.sendPieces(frame, sel, class, flow, out) {
		buffer := b.pool.Get(size)
		copy(buffer.Data()[packet.HeaderSize:], frame)
		b.sender.dispatch(packet.TypeData, buffer, sel, class, flow, out)
	}
	b.follow(out)
}

// Receive takes a packet that arrived over a link, and appends the frames to
// deliver. They point into the packet, which must not change until they are
// delivered. A packet that cannot be read is dropped.
func (b *Bond) Receive(now time.Time, link packet.LinkID, data []byte, out *Output) {
	b.advance(now)
	l := b.link(link)
	h, ok := packet.ParseHeader(data)
	if l == nil || !ok || l.config.Disabled || l.carrierLost {
		return
	}
	l.path.Arrive(b.now, l.mtuPeriod(), len(data))
	if l.count(0, len(data)) {
		b.stale = true
	}
	if h.Kind == packet.TypeProbe {
		if b.peering.probe.Parse(data[packet.HeaderSize:]) {
			b.receiveProbe(l, h, out)
		}
		return
	}
	if b.peer.epoch == 0 || h.Tag != packet.EpochTag(b.peer.epoch) {
		return
	}
	if l.hearing {
		l.hear(b.now)
		if l.late {
			l.late, b.urgent = false, true
		}
	}
	switch b.receiver.window.accept(h.Sequence) {
	case fresh:
		b.receiver.deliver(h, data[packet.HeaderSize:], out)
	case duplicate:
		b.counters.Duplicates++
	case expired:
		b.counters.Expired++
	}
	b.follow(out)
}

// receiveProbe takes the probe that peering has read.
func (b *Bond) receiveProbe(l *link, h packet.Header, out *Output) {
	switch b.peering.findOrigin(h) {
	case foreign:
		return
	case unconfirmed:
		b.peering.greet(l)
		b.sendProbes(out)
		return
	case rival:
		b.peerKey.see(&b.core, out)
		if !b.peering.deserted() {
			return
		}
		b.adopt()
	case restarted:
		b.adopt()
	case current:
	}
	probe := &b.peering.probe
	if probe.Contested {
		b.ownKey.see(&b.core, out)
	}
	if b.peering.record(l, h.Sequence) {
		if b.peering.displaced() {
			b.ownKey.see(&b.core, out)
			b.peering.yield()
		}
		b.receiver.window.skip(probe.Floor)
		if b.peering.echoed() {
			b.peering.applyReports()
			b.sender.replay.acknowledge(probe.Next, probe.Spans)
		}
	}
	if l.quality.rate(l.config, b.now, b.waitToRestore()) {
		b.stale = true
	}
	b.settle(out)
}

// adopt takes the sender of a probe for the peer.
func (b *Bond) adopt() {
	// What was sent to an earlier life of the peer may have arrived there.
	if b.peering.adopt() {
		b.sender.replay.forget()
	}
	b.receiver.reset()
}

// Tick does what is due: it sends probes, finds links that fell silent, and sends
// again what was lost.
//
// Call it when Next says so, even when there is nothing to send: a Tick that comes
// late by more than half a probe's interval shows that this process stalled, and
// the links are given that time. Pass what had arrived by then to Receive first.
// Where that is not possible, at least no lock may keep a packet that was read
// from getting to Receive: a link is given up at the earliest an eighth of its
// interval after the Tick that found it silent, and only where another one was
// heard all the while.
func (b *Bond) Tick(now time.Time, out *Output) {
	b.advance(now)
	b.monitor.forgiveStall()
	b.next = never
	b.monitor.detectSilence()
	b.selector.review()
	b.sender.repairGaps()
	b.sender.replay.expire(b.replayAge())
	b.receiver.expire()
	b.settle(out)
	b.sendProbes(out)
	if b.selector.manual >= 0 {
		b.wake(b.selector.manualUntil)
	}
}

// Next returns when Tick is due; the zero time means never. Any other call may move it to
// an earlier time.
func (b *Bond) Next() time.Time {
	if b.next == never {
		return time.Time{}
	}
	return b.start.Add(b.next)
}

// follow does what a frame or packet made necessary.
func (b *Bond) follow(out *Output) {
	if b.stale || b.urgent {
		b.settle(out)
	} else if b.sender.replay.waiting > 0 {
		b.sender.pump(out)
	}
}

// settle carries the consequences of a call through the parts: the states of the
// links, the choice of links, the packets that wait, the probes that report it.
func (b *Bond) settle(out *Output) {
	b.monitor.evaluate(out)
	if lost := b.monitor.takeLost(); lost != 0 {
		b.sender.resendLost(lost)
	}
	if b.stale {
		if skew := b.selector.choose(out); skew > 0 {
			b.sender.holdBack(skew)
		}
		b.sender.copySuspect()
	}
	b.monitor.alertBackups()
	b.sender.pump(out)
	if b.urgent {
		b.urgent = false
		b.peering.hurry()
		b.sendProbes(out)
	}
}

// sendProbes sends the probes that are due.
func (b *Bond) sendProbes(out *Output) {
	b.peering.send(b.sender.floor(), &b.receiver.window, out)
}
