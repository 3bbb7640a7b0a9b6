package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
)

// shop creates packets, and knows how many buffers are out.
type shop struct{ pool *packet.Pool }

func newShop() *shop { return &shop{pool: packet.NewPool()} }

func (s *shop) packet(class, size int) packet.Packet {
	return packet.Packet{Class: class, Buffer: s.pool.Get(size)}
}

func (s *shop) probe(size int) packet.Packet {
	p := s.packet(-1, size)
	p.Control = true
	return p
}

// popped takes one packet, or reports that there is none.
func popped(s *Scheduler, now time.Time) (packet.Packet, bool) {
	out := s.Pop(now, 1, nil)
	if len(out) == 0 {
		return packet.Packet{}, false
	}
	out[0].Buffer.Release()
	return out[0], true
}

func TestScheduler_Pop_sharesBytesByWeight(t *testing.T) {
	start := time.Unix(0, 0)
	for _, weights := range [][2]int{{1, 1}, {1, 3}, {10, 1}, {1000, 1}} {
		s := New([]settings.Class{{Name: "small", Weight: weights[0]}, {Name: "large", Weight: weights[1]}}, 0)
		goods := newShop()
		sent := [2]int{}
		waiting := [2]int{}
		sizes := [2]int{90, 1400}
		for total := 0; total < 20_000_000; {
			for class, size := range sizes {
				for ; waiting[class] < 100; waiting[class]++ {
					s.Push(start, goods.packet(class, size))
				}
			}
			p, ok := popped(s, start)
			require.True(t, ok)
			waiting[p.Class]--
			sent[p.Class] += sizes[p.Class]
			total += sizes[p.Class]
		}
		want := float64(weights[0]) / float64(weights[0]+weights[1])
		got := float64(sent[0]) / float64(sent[0]+sent[1])
		require.InEpsilon(t, want, got, 0.03, "weights %v", weights)
		require.Zero(t, s.Stats().Dropped)
	}
}

func TestScheduler_Pop_takesProbesThenControl(t *testing.T) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "bulk"}, {Name: "alarm", Control: true}}, 0)
	goods := newShop()
	s.Push(now, goods.packet(-1, 50))
	s.Push(now, goods.packet(0, 100))
	s.Push(now, goods.packet(1, 200))
	s.Push(now, goods.packet(7, 60))
	s.Push(now, goods.probe(300))
	require.Equal(t, 710, s.Bytes())
	var sizes []int
	for _, p := range s.Pop(now, 10, nil) {
		sizes = append(sizes, len(p.Data()))
		p.Buffer.Release()
	}
	require.Equal(t, []int{300, 200, 50, 60, 100}, sizes)
	require.True(t, s.Next(now).IsZero())
	require.Zero(t, s.Bytes())
}

func TestScheduler_boundsControlClasses(t *testing.T) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "alarm", Control: true}, {Name: "bulk"}}, 0)
	goods := newShop()
	for range 4096 {
		s.Push(now, goods.packet(0, 1024))
	}
	require.LessOrEqual(t, s.Bytes(), maxQueueBytes/10)
	require.EqualValues(t, 4096-maxQueueBytes/10/1024, s.Stats().Dropped)
	s.Push(now, goods.packet(1, 1000))
	for i := range 17 {
		p, ok := popped(s, now)
		require.True(t, ok)
		require.Equal(t, i == 16, p.Class == 1, "packet %d is of class %d", i, p.Class)
	}
}

func TestScheduler_Push_dropsFromTheLongestQueue(t *testing.T) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "bulk"}, {Name: "voice"}}, 0)
	goods := newShop()
	for range 10 {
		s.Push(now, goods.packet(1, 200))
	}
	for range 10_000 {
		s.Push(now, goods.packet(0, 1000))
		require.LessOrEqual(t, s.Bytes(), maxQueueBytes)
	}
	require.Positive(t, s.Stats().Dropped)
	got := map[int]int{}
	for p, ok := popped(s, now); ok; p, ok = popped(s, now) {
		got[p.Class]++
	}
	require.Equal(t, 10, got[1], "the short queue loses nothing")
	require.Equal(t, 10_000, got[0]+int(s.Stats().Dropped))

	for range 20_000 {
		s.Push(now, goods.packet(-1, 1))
	}
	require.Equal(t, maxQueuePackets, s.Stats().Packets)
	require.Equal(t, maxQueuePackets, s.Drain())
	require.Zero(t, s.Stats().Packets)
	_, ok := popped(s, now)
	require.False(t, ok)
	s.Push(now, goods.packet(0, 10))
	_, ok = popped(s, now)
	require.True(t, ok, "a queue works on after Drain")
}

func TestScheduler_Pop_dropsOldPackets(t *testing.T) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "voice", MaxDelay: 20 * time.Millisecond},
		{Name: "alarm", Control: true, MaxDelay: time.Millisecond}}, 0)
	goods := newShop()
	s.Push(now, goods.packet(0, 100))
	s.Push(now, goods.packet(1, 100))
	s.Push(now.Add(15*time.Millisecond), goods.packet(0, 200))
	p, ok := popped(s, now.Add(21*time.Millisecond))
	require.True(t, ok)
	require.Len(t, p.Data(), 200)
	require.Equal(t, Stats{Expired: 2}, s.Stats())
	s.Push(now, goods.packet(1, 100))
	_, ok = popped(s, now.Add(time.Second))
	require.False(t, ok)
}

func TestScheduler_Pop_keepsTheRate(t *testing.T) {
	start := time.Unix(0, 0)
	s := New(nil, 8_000_000) // a byte every microsecond
	goods := newShop()
	now, sent := start, 0
	for now.Sub(start) < time.Second {
		for s.Bytes() < 10_000 {
			s.Push(now, goods.packet(-1, 940))
		}
		for _, p := range s.Pop(now, 128, nil) {
			sent += len(p.Data()) + 60
			p.Buffer.Release()
		}
		next := s.Next(now)
		require.True(t, next.After(now), "Pop took all that may go")
		now = next
	}
	require.InDelta(t, 1_005_000, sent, 2000, "the rate, and one burst")

	s.Push(now, goods.probe(9000))
	p, ok := popped(s, now)
	require.True(t, ok && p.Control, "probes are not held back")
	require.WithinDuration(t, now.Add(9060*time.Microsecond), s.Next(now), 1100*time.Microsecond, "but what follows is")
	s.Configure(nil, 0)
	require.Equal(t, now, s.Next(now))
}

func TestScheduler_Configure_keepsPacketsInTheirClass(t *testing.T) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "a"}, {Name: "b", Control: true}, {Name: "c"}}, 0)
	goods := newShop()
	for class := -1; class < 3; class++ {
		s.Push(now, goods.packet(class, 100+class))
	}
	s.Configure([]settings.Class{{Name: "c", Control: true}, {Name: "b"}}, 0)
	got := map[int]int{}
	for p, ok := popped(s, now); ok; p, ok = popped(s, now) {
		got[len(p.Data())] = p.Class
	}
	require.Equal(t, map[int]int{99: -1, 100: -1, 101: 1, 102: 0}, got)
}

func TestScheduler_allocatesNothing(t *testing.T) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "a"}, {Name: "b"}}, 0)
	buffer := packet.NewPool().Get(1000)
	out := make([]packet.Packet, 0, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range 60 {
			s.Push(now, packet.Packet{Class: i % 3, Buffer: buffer})
		}
		out = s.Pop(now, 64, out[:0])
	}))
	require.Len(t, out, 60)
}

func BenchmarkScheduler(b *testing.B) {
	now := time.Unix(0, 0)
	s := New([]settings.Class{{Name: "a"}, {Name: "b", Weight: 4}, {Name: "c", Control: true}}, 0)
	buffer := packet.NewPool().Get(1000)
	out := make([]packet.Packet, 0, 64)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Push(now, packet.Packet{Class: i & 3, Buffer: buffer})
		if i&31 == 31 {
			out = s.Pop(now, 32, out[:0])
		}
	}
}
