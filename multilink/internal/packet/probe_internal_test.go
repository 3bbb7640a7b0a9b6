package packet

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sampleProbe() Probe {
	return Probe{
		Epoch: 1 << 60, Echo: 77, Sequence: 9, Sent: 123456789, Echoed: 987654321, Held: 3 * time.Millisecond,
		Interval: 10 * time.Millisecond, Applied: time.Second, Multiplier: 3, Established: true, Contested: true, Floor: 5, Next: 1000,
		Reports: []Report{{Link: 0xCAFE, Flags: ReportHearing | ReportLate, Loss: 65535}, {Link: 2}},
		Spans:   []Span{{1001, 1001}, {1003, 70000}},
	}
}

func TestProbe_Parse_readsWhatAppendWrites(t *testing.T) {
	t.Parallel()
	want := sampleProbe()
	packet := want.Append(nil, Header{Kind: TypeProbe, Tag: EpochTag(want.Epoch), Sequence: 42})
	h, ok := ParseHeader(packet)
	require.True(t, ok)
	require.Equal(t, Header{Kind: TypeProbe, Tag: 0, Sequence: 42}, h)
	var got Probe
	require.True(t, got.Parse(packet[HeaderSize:]))
	require.Equal(t, want, got)
	require.LessOrEqual(t, len(packet), maxProbeLen)
	for n := range packet[HeaderSize:] {
		require.False(t, got.Parse(packet[HeaderSize:][:n]), "cut to %d bytes", n)
	}
	require.True(t, got.Parse(append(packet[HeaderSize:], 1, 2, 3)), "later versions may add something")
}

func TestProbe_Parse_readsTheMembersThatItKnows(t *testing.T) {
	t.Parallel()
	want := sampleProbe()
	plain := want.Append(nil, Header{Kind: TypeProbe})
	want.Sized = true
	want.Longest = 1400
	want.PathMTU = 1432
	buffer := want.Encode(NewPool(), Header{Kind: TypeProbe}, 1432)
	packet := buffer.Data()
	require.Len(t, packet, 1432)
	require.Equal(t, plain, packet[:len(plain)], "as earlier releases have it")
	var got Probe
	require.True(t, got.Parse(packet[HeaderSize:]))
	require.Equal(t, want, got)
	other := append(bytes.Clone(plain), 9, 3, 1, 2, 3)
	require.True(t, got.Parse(append(bytes.Clone(other), packet[len(plain):]...)[HeaderSize:]))
	require.Equal(t, want, got, "behind a member of a later release")
	for _, bad := range [][]byte{{1}, {1, 3, 5, 5, 5}, {1, 4, 5, 5, 5}, {9, 200, 1}, {0, 1, 4, 5, 5, 5, 5}} {
		require.True(t, got.Parse(append(bytes.Clone(plain), bad...)[HeaderSize:]))
		require.False(t, got.Sized, bad)
	}
}

func TestProbe_Append_fitsTheLongestBuffer(t *testing.T) {
	t.Parallel()
	p := sampleProbe()
	p.Sized = true
	p.Reports = make([]Report, MaxLinks)
	p.Next, p.Spans = 0, nil
	for i := range MaxSpans {
		p.Spans = append(p.Spans, Span{uint64(i+1) << 42, uint64(i+1)<<42 + 1<<41})
	}
	packet := p.Append(nil, Header{Kind: TypeProbe})
	require.LessOrEqual(t, len(packet), maxProbeLen)
	require.NotNil(t, NewPool().Get(maxProbeLen))
	var got Probe
	require.True(t, got.Parse(packet[HeaderSize:]))
	require.Equal(t, p, got)
}

func FuzzProbe(f *testing.F) {
	p := sampleProbe()
	f.Add(p.Append(nil, Header{Kind: TypeProbe, Sequence: 1}))
	p.Sized, p.Longest = true, 1400
	f.Add(p.Append(nil, Header{Kind: TypeProbe, Sequence: 2}))
	f.Add([]byte{0x58, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, ok := ParseHeader(packet)
		if !ok {
			return
		}
		var again [HeaderSize]byte
		h.Put(again[:])
		require.Equal(t, packet[1:HeaderSize], again[1:])
		var p, q Probe
		if !p.Parse(packet[HeaderSize:]) {
			return
		}
		from := p.Next
		for _, s := range p.Spans {
			require.True(t, s.First >= from && s.Last >= s.First && s.Last <= SequenceMask)
			from = s.Last
		}
		require.True(t, q.Parse(p.Append(nil, h)[HeaderSize:]))
		require.Equal(t, p, q)
	})
}
