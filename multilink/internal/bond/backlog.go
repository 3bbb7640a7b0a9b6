package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// pacer limits how fast a backlog is sent: at twice the rate at which frames
// come, so that it shrinks and nobody's buffer overflows.
type pacer struct {
	rate   float64 // of frames that come, bytes a second
	bytes  int     // since began
	began  time.Duration
	tokens float64 // bytes that may be sent now
	filled time.Duration
}

const (
	paceFactor  = 2
	paceFloor   = 1_250_000 // bytes a second: 10 Mbit/s
	paceSpan    = 20 * time.Millisecond
	paceBurst   = 4 * time.Millisecond
	paceMinimum = 2 * (packet.HeaderSize + packet.MaxFrame) // bytes of a burst
	paceStep    = 500 * time.Microsecond
)

// offer counts a frame that came.
func (p *pacer) offer(now time.Duration, n int) {
	p.bytes += n
	if span := now - p.began; span >= paceSpan {
		rate := float64(p.bytes) / span.Seconds()
		p.rate = max(rate, p.rate+(rate-p.rate)/4)
		p.bytes, p.began = 0, now
	}
}

// take asks for n bytes to be sent. Where it is too early for them it returns
// for how long. What a link can carry does not matter here: its [Scheduler]
// knows better what to drop where that is less than what comes.
func (p *pacer) take(now time.Duration, n int) time.Duration {
	rate := max(p.rate*paceFactor, paceFloor)
	burst := max(rate*paceBurst.Seconds(), paceMinimum)
	p.tokens = min(p.tokens+rate*(now-p.filled).Seconds(), burst)
	p.filled = now
	if missing := float64(n) - p.tokens; missing > 0 {
		return max(time.Duration(missing/rate*float64(time.Second)), paceStep)
	}
	p.tokens -= float64(n)
	return 0
}

// pump sends what waits, in order, as fast as the pacer allows.
func (b *Bond) pump(out *Output) {
	r := &b.replay
	if r.waiting == 0 || !b.peer.established || !b.sendable() || b.held() {
		return
	}
	b.pumpControl(out)
	stuck := uint64(0) // lowest number that waits for a link
	found := false
	for s := r.cursor; s < r.head && r.waiting > 0; s++ {
		k := r.at(s)
		if k.buffer == nil || !k.waits {
			continue
		}
		p := b.selectionOf(int(k.class))
		if p.count == 0 {
			if !found {
				stuck, found = s, true
			}
			continue
		}
		if p.maxDelay > 0 && b.now-k.at > p.maxDelay {
			b.evict(k)
			b.rest(p)
			continue
		}
		if wait := b.pacer.take(b.now, len(k.buffer.Data())); wait > 0 {
			if !found {
				stuck, found = s, true
			}
			b.wake(b.now + wait)
			break
		}
		b.resume(k, p, out)
	}
	if !found {
		stuck = r.head
	}
	r.cursor = max(stuck, r.tail)
}

// pumpControl sends what waits of classes that go before all others, at once.
func (b *Bond) pumpControl(out *Output) {
	waiting := 0
	for i := range b.selections {
		if p := &b.selections[i]; p.control && p.count > 0 {
			waiting += p.waiting
		}
	}
	r := &b.replay
	for s := r.cursor; s < r.head && waiting > 0; s++ {
		k := r.at(s)
		if k.buffer == nil || !k.waits {
			continue
		}
		if p := b.selectionOf(int(k.class)); p.control && p.count > 0 {
			b.resume(k, p, out)
			waiting--
		}
	}
}

// resume sends a packet that waited.
func (b *Bond) resume(k *kept, p *selection, out *Output) {
	r := &b.replay
	links := p.linksFor(k.flow) &^ k.links
	if k.sent && links != 0 {
		b.counters.Replayed++
	}
	k.waits, k.sent = false, true
	r.waiting--
	p.waiting--
	k.links |= links
	b.transmit(k.buffer, int(k.class), links, out)
	b.rest(p)
	if k.once {
		r.clear(b, k)
	}
}

// rest ends the queueing of new frames once nothing waits ahead of them.
func (b *Bond) rest(p *selection) {
	if p.waiting == 0 {
		p.queue, p.direct, p.moved = false, 0, 0
	}
}

// sendable reports whether anything that waits has a link.
func (b *Bond) sendable() bool {
	for i := range b.selections {
		if p := &b.selections[i]; p.waiting > 0 && p.count > 0 {
			return true
		}
	}
	return false
}

// held reports whether frames wait for those that are under way on a slower
// link, so that they do not overtake them.
func (b *Bond) held() bool {
	if b.hold == 0 {
		return false
	}
	if b.now >= b.hold || b.replay.tail >= b.holdBelow {
		b.hold = 0
		return false
	}
	b.wake(b.hold)
	return true
}
