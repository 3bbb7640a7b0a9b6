package host

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
)

// cut returns the frames of a super-frame.
func cut(t require.TestingT, h vnetHeader, frame []byte) [][]byte {
	var s segmenter
	require.NoError(t, s.reset(&h, bytes.Clone(frame)))
	return rest(t, &s)
}

// rest returns what a segmenter has left.
func rest(t require.TestingT, s *segmenter) [][]byte {
	var frames [][]byte
	out := make([]byte, multilink.MaxFrame)
	for s.more() {
		n := s.next(out)
		require.Positive(t, n)
		frames = append(frames, bytes.Clone(out[:n]))
	}
	require.Zero(t, s.next(out))
	return frames
}

func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestSum_equalsTheSumOfWords(t *testing.T) {
	for n := range 200 {
		b := noise(n, uint64(n))
		require.Equal(t, slowSum(b), fold(sum(b, 0)), "%d bytes", n)
	}
	full := bytes.Repeat([]byte{255}, 1<<16)
	require.Equal(t, uint16(0xffff), fold(sum(full, ^uint64(0))))
}

func TestSegmenter_cutsTCPAsTheStackDoes(t *testing.T) {
	options := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	for name, p := range map[string]packet{
		"IPv4":           {},
		"IPv4, one tag":  {vlan: []uint16{7}},
		"IPv4, two tags": {vlan: []uint16{7, 9}, options: options},
		"IPv6":           {v6: true, options: options},
		"IPv6, one tag":  {v6: true, vlan: []uint16{7}},
	} {
		t.Run(name, func(t *testing.T) {
			p.from = 1
			p.id = 65534
			p.ttl = 64
			p.tos = 0xb8
			p.seq = 0xfffffc00
			p.ack = 5
			p.window = 600
			p.flags = flagACK | flagPSH | flagFIN | flagCWR
			p.payload = noise(60_001, 3)
			frames := cut2(t, p, 1348)
			require.Len(t, frames, 45)

			var got []byte
			for i, frame := range frames {
				require.Empty(t, wrong(frame), "frame %d", i)
				one := p
				one.id, one.seq = p.id+uint16(i), p.seq+uint32(len(got))
				one.payload = p.payload[len(got):min(len(got)+1348, len(p.payload))]
				if i > 0 {
					one.flags &^= flagCWR
				}
				if i < len(frames)-1 {
					one.flags &^= flagFIN | flagPSH
				}
				require.Equal(t, one.frame(), frame, "frame %d", i)
				got = append(got, one.payload...)
			}
			require.Equal(t, p.payload, got)
		})
	}
}

// cut2 cuts the super-frame with a partial checksum, and checks that cutting it
// with a complete one gives the same.
func cut2(t *testing.T, p packet, size int) [][]byte {
	t.Helper()
	h, frame := p.super(size)
	frames := cut(t, h, frame)
	h.flags = 0
	require.Equal(t, frames, cut(t, h, p.frame()), "with and without the checksum of the pseudo-header")
	return frames
}

func TestSegmenter_cutsUDPIntoDatagrams(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		p := packet{udp: true, v6: v6, from: 4, ttl: 9, id: 3, payload: noise(5000, 8)}
		frames := cut2(t, p, 1200)
		require.Len(t, frames, 5)
		for i, frame := range frames {
			require.Empty(t, wrong(frame))
			one := p
			one.id, one.payload = p.id+uint16(i), p.payload[i*1200:min(i*1200+1200, 5000)]
			require.Equal(t, one.frame(), frame)
		}
	}
}

func TestSegmenter_takesOneSegmentAndPadding(t *testing.T) {
	p := packet{payload: []byte("hello"), flags: flagACK | flagPSH | flagFIN | flagCWR, ttl: 3}
	h, frame := p.super(1000)
	require.Equal(t, [][]byte{p.frame()}, cut(t, h, frame))
	require.Equal(t, [][]byte{p.frame()}, cut(t, h, append(frame, 0, 0, 0)), "without padding")
}

func TestSegmenter_completesPartialChecksums(t *testing.T) {
	for _, p := range []packet{{payload: noise(333, 1), flags: flagACK}, {udp: true, v6: true, payload: noise(48, 2), vlan: []uint16{5}}} {
		h, frame := p.super(0)
		h.gso = gsoNone
		require.Equal(t, [][]byte{p.frame()}, cut(t, h, frame))
	}
}

func TestSegmenter_writesNoZeroChecksumForUDP(t *testing.T) {
	p := packet{udp: true, payload: []byte{0, 0}}
	whole := p.frame()
	// A payload that makes the sum all ones, whose complement is zero.
	binary.BigEndian.PutUint16(p.payload, binary.BigEndian.Uint16(whole[etherSize+ipv4Size+udpChecksum:]))
	h, frame := p.super(0)
	h.gso = gsoNone
	got := cut(t, h, frame)[0]
	require.Equal(t, []byte{255, 255}, got[etherSize+ipv4Size+udpChecksum:][:2])
}

func TestSegmenter_refusesOtherFrames(t *testing.T) {
	h, frame := packet{payload: noise(4000, 1)}.super(1000)
	refused := func(why string, change func(h *vnetHeader, frame []byte) []byte) {
		bad, copied := h, bytes.Clone(frame)
		copied = change(&bad, copied)
		var s segmenter
		require.Error(t, s.reset(&bad, copied), why)
		require.False(t, s.more(), why)
		require.Zero(t, s.next(make([]byte, multilink.MaxFrame)), why)
	}
	refused("size of zero", func(h *vnetHeader, f []byte) []byte { h.size = 0; return f })
	refused("other kind", func(h *vnetHeader, f []byte) []byte { h.gso = gsoTCPv6; return f })
	refused("unknown kind", func(h *vnetHeader, f []byte) []byte { h.gso = 3; return f })
	refused("other transport", func(h *vnetHeader, f []byte) []byte { h.gso, h.checksumOffset = gsoUDP, udpChecksum; return f })
	refused("checksum elsewhere", func(h *vnetHeader, f []byte) []byte { h.checksumStart++; return f })
	refused("field elsewhere", func(h *vnetHeader, f []byte) []byte { h.checksumOffset++; return f })
	refused("fragment", func(h *vnetHeader, f []byte) []byte { f[etherSize+6] = 0x20; return f })
	refused("no payload", func(h *vnetHeader, f []byte) []byte { return f[:etherSize+ipv4Size+tcpSize] })
	refused("cut off", func(h *vnetHeader, f []byte) []byte { return f[:20] })
	refused("short TCP header", func(h *vnetHeader, f []byte) []byte { f[etherSize+ipv4Size+12] = 4 << 4; return f })
	_, long := packet{payload: noise(20_000, 1)}.super(1000)
	refused("longer than a bond carries", func(h *vnetHeader, f []byte) []byte { h.size = 9100; return long })
	refused("longer, not to be cut", func(h *vnetHeader, f []byte) []byte { h.gso = gsoNone; return long })
	refused("checksum outside", func(h *vnetHeader, f []byte) []byte { h.gso, h.checksumStart = gsoNone, 60000; return f })
}

// FuzzSegment cuts whatever comes: it never panics, never writes more than a
// bond carries, and comes to an end.
func FuzzSegment(f *testing.F) {
	for _, p := range []packet{{payload: noise(3000, 1), flags: flagACK},
		{v6: true, vlan: []uint16{1}, payload: noise(3000, 1)}, {udp: true, payload: noise(99, 1)}} {
		h, frame := p.super(1000)
		header := make([]byte, vnetSize)
		h.encode(header)
		f.Add(header, frame)
	}
	f.Add(make([]byte, vnetSize), []byte{})
	out := make([]byte, multilink.MaxFrame)
	f.Fuzz(func(t *testing.T, header, frame []byte) {
		if len(header) < vnetSize || len(frame) > 70_000 {
			t.Skip("the device gives no such thing")
		}
		var h vnetHeader
		h.decode(header)
		original := bytes.Clone(frame)
		var s segmenter
		if s.reset(&h, frame) != nil {
			require.Zero(t, s.next(out))
			return
		}
		limit, total := len(frame)+1, 0
		for s.more() {
			n := s.next(out)
			require.Positive(t, n)
			total += n - s.payload
			limit--
			require.NotZero(t, limit, "no end")
		}
		if h.gso&^gsoECN != gsoNone {
			require.Equal(t, s.end-s.payload, total, "all of the payload")
			require.Equal(t, original[s.payload:], frame[s.payload:])
		}
	})
}
