package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// pacer limits how fast a backlog is sent: at twice the rate at which frames
// come, so that it shrinks and no buffer on the way overflows.
type pacer struct {
	rate   float64 // of frames that come, bytes per second
	bytes  int     // since began
	began  time.Duration
	tokens float64 // bytes that may be sent now
	filled time.Duration
}

const (
	paceFactor  = 2
	paceFloor   = 1_250_000 // bytes per second: 10 Mbit/s
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

// take spends the tokens of n bytes. Where there are too few, it returns how long to
// wait. What a link can carry does not matter here: its scheduler decides what to
// drop where a link carries less than what comes.
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
func (s *sender) pump(out *Output) {
	r := &s.replay
	if r.waiting == 0 || !s.peer.established || !s.sendable() || s.held() {
		return
	}
	s.pumpControl(out)
	stuck := uint64(0) // lowest number that waits for a link
	found := false
	for n := r.cursor; n < r.head && r.waiting > 0; n++ {
		k := r.at(n)
		if k.buffer == nil || !k.waits {
			continue
		}
		sel := s.selector.of(int(k.class))
		if sel.count == 0 {
			if !found {
				stuck, found = n, true
			}
			continue
		}
		if sel.maxDelay > 0 && s.now-k.at > sel.maxDelay {
			s.replay.evict(k)
			sel.rest()
			continue
		}
		if wait := s.pacer.take(s.now, len(k.buffer.Data())); wait > 0 {
			if !found {
				stuck, found = n, true
			}
			s.wake(s.now + wait)
			break
		}
		s.resume(k, sel, out)
	}
	if !found {
		stuck = r.head
	}
	r.cursor = max(stuck, r.tail)
}

// pumpControl sends what waits of classes that precede all others, at once.
func (s *sender) pumpControl(out *Output) {
	waiting := 0
	for i := range s.selector.selections {
		if sel := &s.selector.selections[i]; sel.control && sel.count > 0 {
			waiting += sel.waiting
		}
	}
	r := &s.replay
	for n := r.cursor; n < r.head && waiting > 0; n++ {
		k := r.at(n)
		if k.buffer == nil || !k.waits {
			continue
		}
		if sel := s.selector.of(int(k.class)); sel.control && sel.count > 0 {
			s.resume(k, sel, out)
			waiting--
		}
	}
}

// resume sends a packet that waited.
func (s *sender) resume(k *kept, sel *selection, out *Output) {
	r := &s.replay
	links := sel.linksFor(k.flow) &^ k.links
	if k.sent && links != 0 {
		s.counters.Replayed++
	}
	k.waits, k.sent = false, true
	r.waiting--
	sel.waiting--
	k.links |= links
	s.transmit(k.buffer, int(k.class), links, out)
	sel.rest()
	if k.once {
		r.clear(k)
	}
}

// sendable reports whether anything that waits has a link.
func (s *sender) sendable() bool {
	for i := range s.selector.selections {
		if sel := &s.selector.selections[i]; sel.waiting > 0 && sel.count > 0 {
			return true
		}
	}
	return false
}

// held reports whether frames wait for those that are under way on a slower
// link, so that they do not overtake them.
func (s *sender) held() bool {
	if s.hold == 0 {
		return false
	}
	if s.now >= s.hold || s.replay.tail >= s.holdBelow {
		s.hold = 0
		return false
	}
	s.wake(s.hold)
	return true
}
