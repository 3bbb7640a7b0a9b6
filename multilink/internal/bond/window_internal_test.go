package bond

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// plainWindow is a window without cleverness.
type plainWindow struct {
	seen map[uint64]bool
	top  uint64
	next uint64
}

func (w *plainWindow) accept(s uint64) verdict {
	switch {
	case len(w.seen) == 0:
		w.top = s
		w.next = max(w.next, s-min(s, windowSize-1))
	case s > w.top:
		w.top = s
		if s >= windowSize {
			w.next = max(w.next, s-windowSize+1)
		}
	case w.top-s >= windowSize:
		return expired
	case w.seen[s]:
		return duplicate
	}
	w.seen[s] = true
	w.settle()
	return fresh
}

func (w *plainWindow) settle() {
	for w.seen[w.next] && w.top-w.next < windowSize {
		w.next++
	}
}

func (w *plainWindow) skip(floor uint64) {
	w.next = max(w.next, floor)
	w.settle()
}

func (w *plainWindow) received() (spans []packet.Span) {
	for s := w.next; s <= w.top && len(spans) < packet.MaxSpans; s++ {
		if !w.seen[s] {
			continue
		}
		first := s
		for w.seen[s+1] {
			s++
		}
		spans = append(spans, packet.Span{First: first, Last: s})
	}
	return spans
}

func TestWindow_equalsAPlainOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var w window
		plain := plainWindow{seen: map[uint64]bool{}}
		base := rng.Uint64N(3 * windowSize)
		for i := range 3_000 {
			switch rng.IntN(200) {
			case 0:
				base += rng.Uint64N(2 * windowSize)
			case 1:
				w.skip(base - min(base, 50))
				plain.skip(base - min(base, 50))
			}
			base += rng.Uint64N(4)
			s := base - min(base, rng.Uint64N(70))
			if rng.IntN(50) == 0 {
				s = base - min(base, rng.Uint64N(windowSize+100))
			}
			require.Equal(t, plain.accept(s), w.accept(s), "seed %d step %d number %d", seed, i, s)
			require.Equal(t, plain.next, w.next, "seed %d step %d", seed, i)
			if i%50 == 0 && plain.top-plain.next < 5_000 {
				require.Equal(t, plain.received(), append([]packet.Span(nil), w.received(make([]packet.Span, 0, packet.MaxSpans))...))
			}
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 255, 255, 3, 4}, uint64(0))
	f.Add([]byte{9, 9, 9, 9, 0, 0, 0, 0}, uint64(packet.SequenceMask-100))
	f.Fuzz(func(t *testing.T, steps []byte, at uint64) {
		var w window
		at &= packet.SequenceMask
		seen := map[uint64]bool{}
		for steps = steps[:min(len(steps), 1000)]; len(steps) >= 2; steps = steps[2:] {
			jump := uint64(steps[0])
			if steps[0]&0x80 != 0 {
				jump <<= 10
			}
			if steps[1]&1 != 0 {
				at = min(at+jump, packet.SequenceMask)
			} else {
				at -= min(at, jump)
			}
			if steps[1]&2 != 0 {
				w.skip(at)
				continue
			}
			if w.accept(at) == fresh {
				require.False(t, seen[at], "%d is fresh twice", at)
				seen[at] = true
			}
			from := w.next
			for _, s := range w.received(make([]packet.Span, 0, packet.MaxSpans)) {
				require.True(t, s.First >= from && s.First <= s.Last && s.Last <= w.top)
				from = s.Last + 2
			}
		}
	})
}
