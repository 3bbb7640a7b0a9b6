package packet

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pieces returns the payloads of the packets that carry a frame.
func pieces(t testing.TB, frame []byte, mtu int) [][]byte {
	s, ok := NewSplit(frame, mtu)
	require.True(t, ok)
	var all [][]byte
	for i := range s.Count {
		require.LessOrEqual(t, s.Size(i), mtu)
		packet := make([]byte, s.Size(i))
		s.Put(i, packet[HeaderSize:])
		all = append(all, packet[HeaderSize:])
	}
	return all
}

func randomFrame(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	frame := make([]byte, n)
	for i := range frame {
		frame[i] = byte(random.Uint32())
	}
	return frame
}

func TestReassembler_Add_takesPiecesInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := NewReassembler(ReassemblyBytes, ReassemblyAge)
	sequence := uint64(1)
	for _, size := range []int{1, 14, 60, 1500, 1514, 9000, MaxFrame} {
		for _, mtu := range []int{100, 576, 1394, 1440, 9100} {
			frame := randomFrame(uint64(size), size)
			parts := pieces(t, frame, mtu)
			var got []byte
			for n, i := range random.Perm(len(parts)) {
				got = r.Add(0, sequence+uint64(i), parts[i])
				require.Equal(t, n == len(parts)-1, got != nil, "%d bytes over %d: piece %d", size, mtu, i)
			}
			require.Equal(t, frame, got)
			sequence += uint64(len(parts))
		}
	}
	require.Zero(t, r.Bytes)
	require.Empty(t, r.open)
	require.Zero(t, r.Incomplete)
}

func TestNewSplit_makesPiecesOfAboutOneLength(t *testing.T) {
	s, ok := NewSplit(make([]byte, 1514), 1394)
	require.True(t, ok)
	require.Equal(t, 2, s.Count)
	require.Equal(t, 757, s.piece)
	for _, mtu := range []int{0, HeaderSize + pieceHeaderSize, 50} {
		_, ok = NewSplit(make([]byte, MaxFrame), mtu)
		require.False(t, ok, mtu)
	}
	_, ok = NewSplit(nil, 1400)
	require.False(t, ok)
	_, ok = NewSplit(make([]byte, MaxFrame+1), 1400)
	require.False(t, ok)
}

func TestReassembler_Expire_discardsIncompleteFrames(t *testing.T) {
	r := NewReassembler(ReassemblyBytes, time.Second)
	parts := pieces(t, randomFrame(1, 3000), 1400)
	require.Len(t, parts, 3)
	require.Nil(t, r.Add(0, 10, parts[0]))
	require.Nil(t, r.Add(time.Millisecond, 12, parts[2]))
	at, waits := r.Next()
	require.True(t, waits)
	require.Equal(t, time.Second, at)
	r.Expire(at - 1)
	require.Zero(t, r.Incomplete)
	r.Expire(at)
	require.EqualValues(t, 1, r.Incomplete)
	_, waits = r.Next()
	require.False(t, waits)
	require.Nil(t, r.Add(at, 11, parts[1]), "its others are gone")
}

func TestReassembler_Add_discardsTheOldestForRoom(t *testing.T) {
	r := NewReassembler(8*2048, time.Hour)
	parts := pieces(t, randomFrame(1, 1514), 1000)
	for i := range uint64(20) {
		require.Nil(t, r.Add(0, 2*i, parts[0]))
		require.LessOrEqual(t, r.Bytes, r.maxBytes)
	}
	require.EqualValues(t, 12, r.Incomplete)
	require.Nil(t, r.Add(0, 2*11+1, parts[1]))
	require.NotNil(t, r.Add(0, 2*19+1, parts[1]))
	r.Reset()
	require.Zero(t, r.Bytes)
}

func TestReassembler_Add_ignoresBadPieces(t *testing.T) {
	frame := randomFrame(1, 3000)
	parts := pieces(t, frame, 1400)
	other := randomFrame(2, 3000)
	r := NewReassembler(ReassemblyBytes, ReassemblyAge)
	require.Nil(t, r.Add(0, 0, parts[0]))
	require.Nil(t, r.Add(0, 0, pieces(t, other, 1400)[0]), "the same piece with other bytes")
	require.Nil(t, r.Add(0, 1, pieces(t, other, 900)[1]), "a piece of another length")
	require.Nil(t, r.Add(0, 1, pieces(t, other[:2999], 1400)[1]), "a piece of a frame of another length")
	require.Nil(t, r.Add(0, 1, []byte{1 | lastPiece, 0x0b, 0xb8, 1, 2, 3}), "a last piece that leaves a gap")
	require.Nil(t, r.Add(0, 0, nil))
	require.Nil(t, r.Add(0, 0, []byte{5, 0, 9, 1}), "a number before the first")
	require.Nil(t, r.Add(0, 2, parts[2]))
	require.Equal(t, frame, r.Add(0, 1, parts[1]))
}

func TestReassembler_Add_allocatesNothing(t *testing.T) {
	parts := pieces(t, randomFrame(1, 1514), 1394)
	r := NewReassembler(ReassemblyBytes, ReassemblyAge)
	sequence := uint64(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		r.Add(0, sequence, parts[0])
		if r.Add(0, sequence+1, parts[1]) == nil {
			t.Fatal("want the frame")
		}
		sequence += 2
	}))
}

// FuzzReassemble feeds arbitrary pieces, between those of a real frame,
// which must come out as it went in.
func FuzzReassemble(f *testing.F) {
	f.Add([]byte("frame"), 20, []byte{3, 0x80, 0, 5, 1})
	f.Add(make([]byte, 3000), 1400, []byte{6, 0x01, 0x0b, 0xb8, 1, 2, 3, 7, 0x00, 0x0b, 0xb8, 9})
	f.Fuzz(func(t *testing.T, frame []byte, mtu int, noise []byte) {
		s, ok := NewSplit(frame, mtu)
		if !ok {
			t.Skip("a frame that cannot be cut for that link")
		}
		const first = 1 << 20
		r := NewReassembler(1<<16, ReassemblyAge)
		now := time.Duration(0)
		for i := range s.Count {
			if len(noise) > 1 {
				n := min(int(noise[0]), len(noise)-1)
				// Numbers that cannot be of the frame: 127 pieces end before it.
				if got := r.Add(now, uint64(noise[0]), noise[1:1+n]); len(got) > MaxFrame {
					t.Fatalf("a frame of %d bytes", len(got))
				}
				noise = noise[1+n:]
			}
			packet := make([]byte, s.Size(i))
			s.Put(i, packet[HeaderSize:])
			got := r.Add(now, first+uint64(i), packet[HeaderSize:])
			if complete := i == s.Count-1; complete != (got != nil) || (complete && !bytes.Equal(got, frame)) {
				t.Fatalf("piece %d of %d: got %d bytes of %d", i, s.Count, len(got), len(frame))
			}
			if r.Bytes > r.maxBytes || len(r.open) > 256 {
				t.Fatalf("%d bytes are held for %d frames", r.Bytes, len(r.open))
			}
		}
		r.Expire(now + ReassemblyAge)
		if r.Bytes != 0 || len(r.open) != 0 || r.oldest != nil || r.newest != nil {
			t.Fatalf("%d bytes are held for %d frames after their time", r.Bytes, len(r.open))
		}
	})
}

func BenchmarkReassemble(b *testing.B) {
	parts := pieces(b, randomFrame(1, 1514), 1394)
	r := NewReassembler(ReassemblyBytes, ReassemblyAge)
	b.SetBytes(1514)
	b.ReportAllocs()
	sequence := uint64(0)
	for b.Loop() {
		for _, part := range parts {
			r.Add(0, sequence, part)
			sequence++
		}
	}
}
