package bond

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// newPair returns two bonds over links that take no time, all of them up, and
// the time then.
func newPair(t testing.TB, config settings.Bond) (a, b *Bond, now time.Time) {
	links := []settings.Link{{Name: "wifi", Kind: settings.WiFi, Priority: 1}, {Name: "5g", Kind: settings.FiveG, Priority: 2}}
	now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a, err := New(config, links, 0xA, now)
	require.NoError(t, err)
	b, err = New(config, links, 0xB, now)
	require.NoError(t, err)
	var out Output
	for range 200 {
		now = exchange(a, b, now, &out)
	}
	require.Equal(t, "wifi", a.Status(now).ActiveLink)
	require.Equal(t, "wifi", b.Status(now).ActiveLink)
	return a, b, now
}

// exchange lets 10 ms of probes pass.
func exchange(a, b *Bond, now time.Time, out *Output) time.Time {
	now = now.Add(settings.DefaultProbeInterval)
	a.Tick(now, out)
	hand(b, now, out)
	b.Tick(now, out)
	hand(a, now, out)
	return now
}

func hand(to *Bond, now time.Time, out *Output) {
	for i := 0; i < len(out.Packets); i++ { // answers do not matter
		packet := out.Packets[i]
		var answer Output
		to.Receive(now, packet.Link, packet.Data(), &answer)
		for _, p := range answer.Packets {
			p.Buffer.Release()
		}
		packet.Buffer.Release()
	}
	out.Reset()
}

func TestBond_Send_allocatesNothing(t *testing.T) {
	for _, policy := range settings.Policies() {
		a, b, now := newPair(t, settings.Bond{Policy: policy})
		var sent, received Output
		frame := make([]byte, 1300)
		frames := 0
		step := func() {
			a.Send(now, frame, -1, uint32(frames), &sent)
			for _, packet := range sent.Packets {
				b.Receive(now, packet.Link, packet.Data(), &received)
				packet.Buffer.Release()
			}
			sent.Reset()
			received.Reset()
			if frames++; frames%100 == 0 {
				now = exchange(a, b, now, &sent)
			}
		}
		for range 10_000 {
			step()
		}
		require.Less(t, testing.AllocsPerRun(20_000, step), 0.5, policy)
	}
}

func TestBond_Tick_takesNoLinkDownWhenLate(t *testing.T) {
	t.Parallel()
	a, _, now := newPair(t, settings.Bond{})
	var out Output
	now = now.Add(2 * time.Second) // this process was stopped
	a.Tick(now, &out)
	release(&out)
	for a.Next().Before(now.Add(4 * time.Millisecond)) {
		a.Tick(a.Next(), &out)
		release(&out)
	}
	for _, link := range a.Status(now).Links {
		require.NotEqual(t, status.Down, link.State)
	}
	for range 400 { // the peer does not answer
		a.Tick(a.Next(), &out)
		release(&out)
	}
	require.False(t, a.Status(a.Next()).Connected)
}

func TestBond_releasesEveryBuffer(t *testing.T) {
	t.Parallel()
	a, b, now := newPair(t, settings.Bond{Policy: settings.Redundant})
	var out Output
	var buffers []*packet.Buffer
	for range 3_000 {
		a.Send(now, make([]byte, 700), -1, 0, &out)
		for _, packet := range out.Packets {
			buffers = append(buffers, packet.Buffer)
		}
		hand(b, now, &out)
		now = now.Add(100 * time.Microsecond)
	}
	for range 100 {
		now = exchange(a, b, now, &out)
	}
	for _, buffer := range buffers {
		require.Panics(t, buffer.Release)
	}
	require.Zero(t, a.sender.replay.bytes)
	require.Zero(t, a.sender.replay.waiting)
}

// FuzzBond_Receive has an authentic peer send nonsense: whole packets, and probes
// whose fields the input chooses.
func FuzzBond_Receive(f *testing.F) {
	p := packet.Probe{
		Epoch: 1 << 60, Echo: 77, Sequence: 9, Sent: 123456789, Echoed: 987654321, Held: 3 * time.Millisecond,
		Interval: 10 * time.Millisecond, Applied: time.Second, Multiplier: 3, Established: true, Floor: 5, Next: 1000,
		Reports: []packet.Report{{Link: 0xCAFE, Flags: packet.ReportHearing | packet.ReportLate, Loss: 65535}, {Link: 2}},
		Spans:   []packet.Span{{First: 1001, Last: 1001}, {First: 1003, Last: 70000}},
	}
	f.Add(p.Append(nil, packet.Header{Kind: packet.TypeProbe}), uint8(3))
	f.Add([]byte{0x48, 0, 0xB, 0, 0, 0, 0, 0, 1, 2, 3}, uint8(200))
	f.Add([]byte{0x50, 0, 0xB, 0, 0, 0, 0, 0, 1, 0x80, 0, 4, 1, 2, 3, 4}, uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, mode uint8) {
		a, b, now := newPair(t, settings.Bond{Policy: settings.Policies()[mode%4]})
		var out Output
		frame := make([]byte, 200)
		for i := range 20 {
			a.Send(now, frame, -1, uint32(i), &out)
		}
		release(&out)
		raw := append([]byte(nil), data...)
		if mode&0x10 != 0 && len(raw) > packet.HeaderSize+16 {
			// Of the right epoch, and knowing ours.
			h, _ := packet.ParseHeader(raw)
			h = packet.Header{Kind: packet.TypeProbe, Tag: packet.EpochTag(b.epoch), Sequence: h.Sequence}
			h.Put(raw)
			var p packet.Probe
			if p.Parse(raw[packet.HeaderSize:]) {
				p.Epoch = b.epoch
				p.Echo = a.epoch
				p.Established = true
				raw = p.Append(nil, h)
			}
		}
		for i := range 6 {
			a.Receive(now, packet.LinkID(int(mode>>5)-1+i%2), raw, &out)
			release(&out)
			a.Send(now, frame, int(mode)-100, uint32(i), &out)
			release(&out)
			now = now.Add(7 * time.Millisecond)
			a.Tick(now, &out)
			release(&out)
			require.LessOrEqual(t, a.sender.replay.tail, a.sender.replay.head)
			require.LessOrEqual(t, a.sender.replay.bytes, defaultReplayBytes+10_000)
			require.GreaterOrEqual(t, a.sender.replay.waiting, 0)
			require.LessOrEqual(t, a.receiver.pieces.Bytes, packet.ReassemblyBytes+packet.MaxFrame)
			waiting := 0
			for i := range a.selector.selections {
				waiting += a.selector.selections[i].waiting
			}
			require.Equal(t, a.sender.replay.waiting, waiting)
			require.False(t, a.Next().IsZero())
			require.Less(t, a.Next().Sub(now), time.Minute)
		}
	})
}

func release(out *Output) {
	for _, packet := range out.Packets {
		packet.Buffer.Release()
	}
	out.Reset()
}

func BenchmarkSendAndReceive(b *testing.B) {
	for _, policy := range settings.Policies() {
		b.Run(string(policy), func(b *testing.B) {
			from, to, now := newPair(b, settings.Bond{Policy: policy})
			var sent, received Output
			frame := make([]byte, 1300)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				from.Send(now, frame, -1, uint32(n), &sent)
				for _, packet := range sent.Packets {
					to.Receive(now, packet.Link, packet.Data(), &received)
					packet.Buffer.Release()
				}
				sent.Reset()
				received.Reset()
				if n%1000 == 999 { // 100,000 frames per second
					now = exchange(from, to, now, &sent)
				}
			}
		})
	}
}
