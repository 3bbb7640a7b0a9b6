package multilink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sampleProbe() probe {
	return probe{
		epoch: 1 << 60, echo: 77, sequence: 9, sent: 123456789, echoed: 987654321, held: 3 * time.Millisecond,
		interval: 10 * time.Millisecond, applied: time.Second, multiplier: 3, established: true, floor: 5, next: 1000,
		reports: []report{{link: 0xCAFE, flags: reportHearing | reportLate, loss: 65535}, {link: 2}},
		spans:   []span{{1001, 1001}, {1003, 70000}},
	}
}

func TestAProbeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := sampleProbe()
	packet := want.append(nil, header{kind: typeProbe, tag: epochTag(want.epoch), sequence: 42})
	h, ok := parseHeader(packet)
	require.True(t, ok)
	require.Equal(t, header{kind: typeProbe, tag: 0, sequence: 42}, h)
	var got probe
	require.True(t, got.parse(packet[HeaderSize:]))
	require.Equal(t, want, got)
	require.LessOrEqual(t, len(packet), maxProbeLen)
	for n := range packet[HeaderSize:] {
		require.False(t, got.parse(packet[HeaderSize:][:n]), "cut to %d bytes", n)
	}
	require.True(t, got.parse(append(packet[HeaderSize:], 1, 2, 3)), "later versions may add something")
}

func TestTheLongestProbeFits(t *testing.T) {
	t.Parallel()
	p := sampleProbe()
	p.reports = make([]report, maxLinks)
	p.next, p.spans = 0, nil
	for i := range maxSpans {
		p.spans = append(p.spans, span{uint64(i+1) << 42, uint64(i+1)<<42 + 1<<41})
	}
	packet := p.append(nil, header{kind: typeProbe})
	require.LessOrEqual(t, len(packet), maxProbeLen)
	require.NotNil(t, newBufferPool().get(maxProbeLen))
	var got probe
	require.True(t, got.parse(packet[HeaderSize:]))
	require.Equal(t, p, got)
}

func TestLossIsThatOfTheLastHundred(t *testing.T) {
	t.Parallel()
	var q quality
	require.Zero(t, q.lossRx())
	q.arrive(0)
	for range 300 {
		q.arrive(2) // every other one is lost
	}
	require.InDelta(t, 0.5, q.lossRx(), 0.001)
	q.arrive(-1) // late, not lost
	require.InDelta(t, 0.49, q.lossRx(), 0.001)
	for range 100 {
		q.arrive(1)
	}
	require.Zero(t, q.lossRx())
	for _, wild := range []int32{-1 << 31, 1<<31 - 1, -127, -128, 127, 128, 0} {
		q.arrive(wild)
		require.LessOrEqual(t, q.lossRx(), 1.0)
	}
}

func FuzzProbe(f *testing.F) {
	p := sampleProbe()
	f.Add(p.append(nil, header{kind: typeProbe, sequence: 1}))
	f.Add([]byte{0x58, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, ok := parseHeader(packet)
		if !ok {
			return
		}
		var again [HeaderSize]byte
		h.put(again[:])
		require.Equal(t, packet[1:HeaderSize], again[1:])
		var p, q probe
		if !p.parse(packet[HeaderSize:]) {
			return
		}
		from := p.next
		for _, s := range p.spans {
			require.True(t, s.first >= from && s.last >= s.first && s.last <= sequenceMask)
			from = s.last
		}
		require.True(t, q.parse(p.append(nil, h)[HeaderSize:]))
		require.Equal(t, p, q)
	})
}

// A probe of three links from one bond to the other, Tick and Receive: it
// allocates nothing.
func BenchmarkProbe(b *testing.B) {
	links := []LinkConfig{{Name: "wifi", Kind: WiFi}, {Name: "mesh", Kind: Mesh, Priority: 1}, {Name: "5g", Kind: FiveG, Priority: 2}}
	now := time.Now()
	one, _ := NewBond(BondConfig{}, links, 1, now)
	two, _ := NewBond(BondConfig{}, links, 2, now)
	var out, back Output
	probes := 0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(10 * time.Millisecond)
		for _, end := range [][2]*Bond{{one, two}, {two, one}} {
			out.Reset()
			end[0].Tick(now, &out)
			for _, p := range out.Packets {
				end[1].Receive(now, p.Link, p.Data(), &back)
				p.Buffer.Release()
				probes++
			}
			for _, p := range back.Packets {
				p.Buffer.Release()
			}
			back.Reset()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(probes, 1)), "ns/probe")
}
