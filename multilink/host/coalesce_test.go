package host

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// joined is what a coalescer put out.
type joined struct {
	header vnetHeader
	frame  []byte
}

// join runs batches through a coalescer.
func join(batches ...[][]byte) []joined {
	var all []joined
	c := newCoalescer(func(h vnetHeader, head []byte, payload [][]byte) {
		all = append(all, joined{h, append(bytes.Clone(head), slices.Concat(payload...)...)})
	})
	for _, batch := range batches {
		for _, frame := range batch {
			c.add(frame)
		}
		c.flush()
	}
	return all
}

// stream returns the segments of a connection that carry payload.
func stream(p packet, payload []byte, size int) [][]byte {
	var frames [][]byte
	for len(payload) > 0 {
		n := min(size, len(payload))
		p.payload = payload[:n]
		if n == len(payload) {
			p.flags |= flagPSH
		}
		frames = append(frames, p.frame())
		p.id++
		p.seq += uint32(n)
		payload = payload[n:]
	}
	return frames
}

func base() packet {
	return packet{from: 1, ttl: 64, flags: flagACK, seq: 0xffffff00, ack: 9, window: 100, id: 65530}
}

func TestCoalescer_joinsSegmentsOfAConnection(t *testing.T) {
	options := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	for _, p := range []packet{{}, {v6: true}, {vlan: []uint16{3}, options: options}, {v6: true, vlan: []uint16{3, 4}, options: options}} {
		b := base()
		b.vlan = p.vlan
		b.v6 = p.v6
		b.options = p.options
		payload := noise(40_000, 7)
		frames := stream(b, payload, 1348)
		out := join(frames)
		require.Len(t, out, 1)

		want := b
		want.payload, want.flags = payload, flagACK|flagPSH
		header, frame := want.super(1348)
		header.headers = uint16(len(frame) - len(payload))
		require.Equal(t, joined{header, frame}, out[0])
		require.Equal(t, frames, cut(t, out[0].header, out[0].frame), "cutting gives them back")
	}
}

func TestCoalescer_boundsTheLength(t *testing.T) {
	b := base()
	frames := stream(b, noise(200_000, 1), 1400)
	out := join(frames)
	require.Len(t, out, 4)
	var back [][]byte
	for _, o := range out {
		require.LessOrEqual(t, len(o.frame)-etherSize, maxIP)
		back = append(back, cut(t, o.header, o.frame)...)
	}
	require.Equal(t, frames, back)

	small := stream(b, noise(30_000, 1), 100)
	require.Len(t, join(small), (len(small)+maxSegments-1)/maxSegments)
}

func TestCoalescer_joinsInterleavedConnections(t *testing.T) {
	var frames [][]byte
	var flows [6][][]byte
	for i := range flows {
		b := base()
		b.from = byte(i)
		flows[i] = stream(b, noise(14_000, uint64(i)), 1400)
	}
	for i := range 10 {
		for _, flow := range flows {
			frames = append(frames, flow[i])
		}
	}
	require.Len(t, join(frames), len(flows))
	require.Len(t, join(frames[:30], frames[30:]), 2*len(flows), "batches are not joined")
}

func TestCoalescer_keepsDifferentHeadersApart(t *testing.T) {
	first := base()
	first.payload = noise(1000, 1)
	next := first
	next.seq += 1000
	next.id++
	require.Len(t, join([][]byte{first.frame(), next.frame()}), 1)

	for name, change := range map[string]func(p *packet){
		"gap":             func(p *packet) { p.seq++ },
		"again":           func(p *packet) { p.seq = first.seq },
		"acknowledgement": func(p *packet) { p.ack++ },
		"window":          func(p *packet) { p.window++ },
		"time to live":    func(p *packet) { p.ttl-- },
		"service":         func(p *packet) { p.tos = 4 },
		"identifier":      func(p *packet) { p.id += 3 },
		"fragmentation":   func(p *packet) { p.df = true },
		"options":         func(p *packet) { p.options = []byte{1, 1, 1, 1} },
		"longer":          func(p *packet) { p.payload = noise(1001, 2) },
		"empty":           func(p *packet) { p.payload = nil },
		"FIN":             func(p *packet) { p.flags |= flagFIN },
		"SYN":             func(p *packet) { p.flags |= 2 },
		"RST":             func(p *packet) { p.flags |= 4 },
		"URG":             func(p *packet) { p.flags |= 0x20 },
		"ECE":             func(p *packet) { p.flags |= flagECE },
		"CWR":             func(p *packet) { p.flags |= flagCWR },
		"VLAN":            func(p *packet) { p.vlan = []uint16{1} },
		"UDP":             func(p *packet) { p.udp = true },
	} {
		p := next
		change(&p)
		frames := [][]byte{first.frame(), p.frame()}
		out := join(frames)
		require.Len(t, out, 2, name)
		for i := range out {
			require.Equal(t, joined{vnetHeader{}, frames[i]}, out[i], name)
		}
	}
}

func TestCoalescer_endsAtPushAndAShortSegment(t *testing.T) {
	b := base()
	frames := stream(b, noise(2500, 1), 1000) // the last is short, and pushes
	b.seq, b.id = b.seq+2500, b.id+3
	frames = append(frames, stream(b, noise(3000, 2), 1000)...)
	out := join(frames)
	require.Len(t, out, 2)
	require.Equal(t, frames, append(cut(t, out[0].header, out[0].frame), cut(t, out[1].header, out[1].frame)...))
}

func TestCoalescer_leavesADamagedSegmentAlone(t *testing.T) {
	for damaged := range 3 {
		frames := stream(base(), noise(3000, 1), 1000)
		frames[damaged][500] ^= 1
		out := join(frames)
		found := false
		for _, o := range out {
			found = found || (o.header == vnetHeader{} && bytes.Equal(o.frame, frames[damaged]))
		}
		require.True(t, found, "frame %d is passed on as it is", damaged)
	}
}

func TestCoalescer_joinsAtomicPacketsOfOneIdentifier(t *testing.T) {
	first := base()
	first.df = true
	first.id = 0
	first.payload = noise(1000, 1)
	next := first
	next.seq += 1000
	require.Len(t, join([][]byte{first.frame(), next.frame()}), 1)
}

func TestCoalescer_allocatesNothing(t *testing.T) {
	frames := stream(base(), noise(60_000, 7), 1348)
	c := newCoalescer(func(vnetHeader, []byte, [][]byte) {})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, f := range frames {
			c.add(f)
		}
		c.flush()
	}))
}

// FuzzCoalesce creates connections out of the input, with other frames among
// them. Whatever a coalescer makes of a batch, cutting returns every frame,
// byte for byte, in the order of its connection and of what is not a connection.
func FuzzCoalesce(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 1, 0, 1, 0, 1, 0x10, 1, 0x20, 0x81, 0, 0x81, 0, 1, 0x40, 1, 0x80})
	f.Add(bytes.Repeat([]byte{2, 0, 0x43, 0}, 200))
	f.Fuzz(func(t *testing.T, script []byte) {
		var state [16]packet
		for i := range state {
			state[i] = base()
			state[i].from = byte(i)
			state[i].v6 = i&1 != 0
			state[i].df = i&2 != 0
			if i&4 != 0 {
				state[i].vlan = []uint16{uint16(i)}
			}
		}
		var frames [][]byte
		for ; len(script) >= 2 && len(frames) < 300; script = script[2:] {
			frames = append(frames, act(&state[script[0]&15], script[0]>>4, script[1]))
		}
		var back [][]byte
		for _, o := range join(frames) {
			if o.header == (vnetHeader{}) {
				back = append(back, o.frame)
				continue
			}
			pieces := cut(t, o.header, o.frame)
			require.Greater(t, len(pieces), 1)
			for _, piece := range pieces {
				require.Empty(t, wrong(piece))
			}
			back = append(back, pieces...)
		}
		require.Len(t, back, len(frames))
		for flow := range 17 {
			require.Equal(t, of(flow, frames), of(flow, back), "flow %d", flow)
		}
	})
}

// act creates the next frame of a connection, with something odd about it.
func act(p *packet, length, oddity byte) []byte {
	p.payload = noise([]int{1400, 1400, 1400, 1400, 1400, 700, 1, 0}[length&7], uint64(p.seq))
	one := *p
	damaged := false
	switch oddity {
	case 0x10:
		one.flags |= flagPSH
	case 0x20:
		one.flags |= flagFIN
	case 0x30:
		p.ack++
	case 0x40:
		p.window++
	case 0x50:
		p.seq += 5
	case 0x60:
		one.udp = true
	case 0x70:
		damaged = true
	case 0x80:
		p.id += 7
	case 0x90:
		p.options = []byte{1, 1, 1, 1}
	case 0xa0:
		one.flags |= flagCWR
	case 0xb0:
		p.flags ^= flagECE
	case 0xc0:
		return []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, p.from, 8, 6, length} // no IP
	}
	p.seq += uint32(len(p.payload))
	p.id++
	frame := one.frame()
	if damaged {
		frame[len(frame)-1] ^= 0x55
	}
	return frame
}

// of selects the frames of a connection, and those that nothing may pass.
func of(flow int, frames [][]byte) [][]byte {
	var selected [][]byte
	for _, f := range frames {
		s := inspect(f)
		if !s.tcp || int(f[11]) == flow {
			selected = append(selected, f)
		}
	}
	return selected
}

func BenchmarkCoalesce(b *testing.B) {
	frames := stream(base(), noise(60_000, 7), 1348)
	c := newCoalescer(func(vnetHeader, []byte, [][]byte) {})
	b.SetBytes(60_000)
	for b.Loop() {
		for _, f := range frames {
			c.add(f)
		}
		c.flush()
	}
}

func BenchmarkSegment(b *testing.B) {
	p := base()
	p.payload = noise(60_000, 7)
	h, frame := p.super(1348)
	partial := bytes.Clone(frame[:100])
	out := make([]byte, 9100)
	var s segmenter
	b.SetBytes(60_000)
	for b.Loop() {
		copy(frame, partial)
		if s.reset(&h, frame) != nil {
			b.Fatal("refused")
		}
		for s.more() {
			s.next(out)
		}
	}
}
