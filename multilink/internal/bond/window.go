package bond

import (
	"math/bits"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// windowSize is how many sequence numbers below the highest can be checked for
// duplicates: 6.5 s at 10,000 packets per second.
const windowSize = 1 << 16

// verdict on a sequence number.
type verdict uint8

const (
	fresh     verdict = iota // never seen
	duplicate                // seen before
	expired                  // too old to decide
)

// window finds duplicates among the packets of one epoch of the peer, in the manner
// of the anti-replay window of RFC 4303 section 3.4.3. It also has what to
// acknowledge. The zero value has seen nothing.
type window struct {
	seen [windowSize / 64]uint64 // bit number s mod windowSize, for s in (top-windowSize, top]
	top  uint64                  // highest number seen
	next uint64                  // all numbers below were seen, or are not sent any more
	used bool
}

func (w *window) reset() { *w = window{} }

func (w *window) has(s uint64) bool {
	return w.used && s <= w.top && w.top-s < windowSize && w.seen[s%windowSize/64]&(1<<(s%64)) != 0
}

// accept records number s and returns its verdict.
func (w *window) accept(s uint64) verdict {
	switch {
	case !w.used:
		w.used, w.top = true, s
		w.next = max(w.next, s-min(s, windowSize-1))
	case s > w.top:
		w.forget(s)
	case w.top-s >= windowSize:
		return expired
	case w.seen[s%windowSize/64]&(1<<(s%64)) != 0:
		return duplicate
	}
	w.seen[s%windowSize/64] |= 1 << (s % 64)
	if s == w.next {
		w.advance()
	}
	return fresh
}

// forget makes s the top: the numbers that leave the window are forgotten.
func (w *window) forget(s uint64) {
	if s-w.top >= windowSize {
		w.seen = [windowSize / 64]uint64{}
	} else {
		for n := w.top + 1; n <= s; {
			if n%64 == 0 && s-n >= 63 {
				w.seen[n%windowSize/64] = 0
				n += 64
				continue
			}
			w.seen[n%windowSize/64] &^= 1 << (n % 64)
			n++
		}
	}
	w.top = s
	if s >= windowSize && w.next <= s-windowSize {
		w.next = s - windowSize + 1
		w.advance()
	}
}

// skip gives up the numbers below floor: the peer sends them no more.
func (w *window) skip(floor uint64) {
	if floor > w.next {
		w.next = floor
		w.advance()
	}
}

// advance moves next to the first number that is missing.
func (w *window) advance() {
	for w.has(w.next) {
		rest := w.seen[w.next%windowSize/64] >> (w.next % 64)
		run := uint64(bits.TrailingZeros64(^rest))
		w.next += min(run, 64-w.next%64, w.top-w.next+1)
	}
}

// received appends the runs of numbers above next that were seen, the lowest
// first, as far as the capacity of spans goes.
func (w *window) received(spans []packet.Span) []packet.Span {
	if !w.used {
		return spans
	}
	for s := w.next; s <= w.top && len(spans) < cap(spans); {
		first := w.scan(s, false)
		if first > w.top {
			break
		}
		end := w.scan(first, true)
		spans = append(spans, packet.Span{First: first, Last: end - 1})
		s = end
	}
	return spans
}

// scan returns the first number from s on that is unseen, or seen, as the argument
// seen is true or false. It is top+1 without one.
func (w *window) scan(s uint64, seen bool) uint64 {
	for s <= w.top {
		word := w.seen[s%windowSize/64]
		if seen {
			word = ^word
		}
		if word >>= s % 64; word != 0 {
			return min(s+uint64(bits.TrailingZeros64(word)), w.top+1)
		}
		s += 64 - s%64
	}
	return w.top + 1
}
