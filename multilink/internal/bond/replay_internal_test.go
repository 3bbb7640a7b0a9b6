package bond

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
)

// FuzzReplay drives the replay buffer with whatever acknowledgements, failures
// and ages, and recounts what it counts.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{0, 200, 1, 0, 0, 10, 2, 0, 50, 3, 1, 1, 4, 9, 9})
	f.Add([]byte{0, 255, 255, 0, 255, 255, 3, 1, 0, 1, 0, 90, 5, 0, 0, 0, 3, 3})
	f.Fuzz(func(t *testing.T, steps []byte) {
		a, _, now := newPair(t, settings.Bond{ReplayBytes: 1 << 20})
		r := &a.sender.replay
		var out Output
		for steps = steps[:min(len(steps), 300)]; len(steps) >= 3; steps = steps[3:] {
			n := uint64(binary.BigEndian.Uint16(steps[1:]))
			switch steps[0] % 7 {
			case 0:
				for i := range n % 500 {
					a.Send(now, make([]byte, 1+n%2000), -1, uint32(i), &out)
					release(&out)
				}
			case 1:
				r.acknowledge(r.tail+n, nil)
			case 2:
				at := r.tail + n%256
				r.acknowledge(r.tail, []packet.Span{
					{First: at, Last: at + n/256},
					{First: at + n, Last: at + 2*n},
					{First: packet.SequenceMask - 1, Last: packet.SequenceMask},
				})
			case 3:
				r.lost(uint32(n))
			case 4:
				now = now.Add(time.Duration(n) * 10 * time.Microsecond)
				a.Tick(now, &out)
				release(&out)
			case 5:
				r.forget()
			case 6:
				r.repeat(uint32(n%4), a.now)
			}
			recount(t, a)
		}
	})
}

func recount(t *testing.T, b *Bond) {
	r := &b.sender.replay
	bytes, waiting := 0, 0
	for s := r.tail; s < r.head; s++ {
		k := r.at(s)
		if k.buffer == nil {
			require.False(t, k.waits)
			continue
		}
		h, ok := packet.ParseHeader(k.buffer.Data())
		require.True(t, ok)
		require.Equal(t, s, h.Sequence)
		bytes += k.buffer.Charge()
		if k.waits {
			waiting++
			require.GreaterOrEqual(t, s, r.cursor)
		}
	}
	require.Equal(t, bytes, r.bytes)
	require.Equal(t, waiting, r.waiting)
	require.LessOrEqual(t, r.bytes, 1<<20+packet.MaxFrame)
	require.LessOrEqual(t, len(r.ring), maxRing)
}
