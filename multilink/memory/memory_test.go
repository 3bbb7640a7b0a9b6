package memory_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
)

var (
	northAddress = netip.MustParseAddr("10.0.0.1")
	southAddress = netip.MustParseAddr("10.0.0.2")
)

// heard is a packet and when it arrived.
type heard struct {
	number uint32
	size   int
	after  time.Duration
}

// listener notes what a tunnel receives.
type listener struct {
	start time.Time
	mu    sync.Mutex
	heard []heard
}

func (l *listener) receive(packets [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range packets {
		l.heard = append(l.heard, heard{binary.BigEndian.Uint32(p), len(p), time.Since(l.start)})
	}
}

func (l *listener) all() []heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

func (l *listener) numbers() []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	numbers := []uint32{}
	for _, h := range l.heard {
		numbers = append(numbers, h.number)
	}
	return numbers
}

// pair is two hosts with a tunnel over link "wifi": the south calls the north.
type pair struct {
	network          *memory.Network
	north, south     *memory.Host
	fromNorth        multilink.Tunnel
	fromSouth        multilink.Tunnel
	atNorth, atSouth *listener
	northward        memory.Path
}

func newPair(t *testing.T, seed uint64) *pair {
	t.Helper()
	p := &pair{
		network: memory.NewNetwork(seed, "wifi", "5g"),
		atNorth: &listener{start: time.Now()},
		atSouth: &listener{start: time.Now()},
	}
	p.northward = memory.Path{Link: "wifi", From: southAddress, To: northAddress}
	var err error
	p.north, err = p.network.Host(northAddress)
	require.NoError(t, err)
	p.south, err = p.network.Host(southAddress)
	require.NoError(t, err)
	north, south := multilink.Key{8}, multilink.Key{16}
	northKey, err := north.PublicKey()
	require.NoError(t, err)
	southKey, err := south.PublicKey()
	require.NoError(t, err)
	called, err := p.north.Underlay(t.Context(), multilink.UnderlayConfig{Link: "wifi", PrivateKey: north})
	require.NoError(t, err)
	caller, err := p.south.Underlay(t.Context(), multilink.UnderlayConfig{Link: "wifi", PrivateKey: south})
	require.NoError(t, err)
	p.fromNorth, err = called.Open(multilink.TunnelPeer{PublicKey: southKey}, p.atNorth.receive)
	require.NoError(t, err)
	p.fromSouth, err = caller.Open(multilink.TunnelPeer{
		PublicKey: northKey, Endpoint: netip.AddrPortFrom(northAddress, called.Port()),
	}, p.atSouth.receive)
	require.NoError(t, err)
	return p
}

func numbered(number uint32, size int) []byte {
	return binary.BigEndian.AppendUint32(make([]byte, 0, size), number)[:size]
}

// onMemory runs a test in fake time, and requires that nothing is left running.
func onMemory(t *testing.T, seed uint64, test func(*testing.T, *pair)) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, seed)
		t.Cleanup(func() {
			require.NoError(t, p.network.Close())
			require.NoError(t, p.network.Close())
		})
		test(t, p)
	})
}

func TestImpairment_Delay_delaysPackets(t *testing.T) {
	onMemory(t, 1, func(t *testing.T, p *pair) {
		require.NoError(t, p.network.Impair(p.northward, memory.Impairment{Delay: 40 * time.Millisecond}))
		require.NoError(t, p.fromSouth.Send([][]byte{numbered(7, 100)}))
		time.Sleep(time.Second)
		require.Equal(t, []heard{{7, 100, 40 * time.Millisecond}}, p.atNorth.all())
		require.NoError(t, p.fromNorth.Send([][]byte{numbered(8, 100)}), "the waiter knows the caller now")
		synctest.Wait()
		require.Equal(t, []heard{{8, 100, time.Second}}, p.atSouth.all(), "the other direction has no delay")
	})
}

func TestNewNetwork_repeatsImpairmentsOfASeed(t *testing.T) {
	run := func(seed uint64) (all []heard) {
		onMemory(t, seed, func(t *testing.T, p *pair) {
			require.NoError(t, p.network.Impair(p.northward, memory.Impairment{
				Loss: 0.1, Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Reorder: 0.05, Duplicate: 0.05,
			}))
			for i := range uint32(2000) {
				require.NoError(t, p.fromSouth.Send([][]byte{numbered(i, 64)}))
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Second)
			all = p.atNorth.all()
		})
		return all
	}
	once := run(3)
	require.Equal(t, once, run(3))
	require.NotEqual(t, once, run(4))

	seen := map[uint32]int{}
	repeated, overtaken := 0, 0
	for i, h := range once {
		if seen[h.number]++; seen[h.number] == 2 {
			repeated++
		}
		if i > 0 && h.number < once[i-1].number {
			overtaken++
		}
		require.GreaterOrEqual(t, h.after, 20*time.Millisecond)
	}
	require.InDelta(t, 1800, len(seen), 50)
	require.InDelta(t, 90, repeated, 35)
	require.InDelta(t, 150, overtaken, 60, "packets that were held back, and second copies")
}

func TestImpairment_Jitter_keepsTheOrder(t *testing.T) {
	onMemory(t, 1, func(t *testing.T, p *pair) {
		require.NoError(t, p.network.Impair(p.northward, memory.Impairment{Jitter: 50 * time.Millisecond}))
		want := []uint32{}
		for i := range uint32(500) {
			want = append(want, i)
			require.NoError(t, p.fromSouth.Send([][]byte{numbered(i, 64)}))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		require.Equal(t, want, p.atNorth.numbers())
	})
}

func TestImpairment_Rate_blocksAndThenDrops(t *testing.T) {
	onMemory(t, 1, func(t *testing.T, p *pair) {
		// 1,000 bytes and 60 of headers take 1.06 ms.
		require.NoError(t, p.network.Impair(p.northward, memory.Impairment{Rate: 8_000_000, Queue: 10 * 1060}))
		var batch [][]byte
		for i := range uint32(100) {
			batch = append(batch, numbered(i, 1000))
		}
		began := time.Now()
		require.NoError(t, p.fromSouth.Send(batch))
		require.Equal(t, 5*time.Millisecond, time.Since(began), "Send waits for that long and no longer")
		require.NoError(t, p.fromSouth.SendControl(numbered(1000, 1000)))
		time.Sleep(time.Second)
		got := p.atNorth.numbers()
		require.Contains(t, got[:7], uint32(1000), "control passes what waits")
		require.Len(t, got, 10+4+1)
		require.EqualValues(t, 86, p.fromSouth.Stats().Dropped)
		last := p.atNorth.all()[len(got)-1]
		require.InDelta(t, 14*1.06, float64(last.after)/float64(time.Millisecond), 0.01)
	})
}

func TestNetwork_Cut_dropsOnItsPathAlone(t *testing.T) {
	onMemory(t, 1, func(t *testing.T, p *pair) {
		ping := func(number uint32) {
			require.NoError(t, p.fromSouth.Send([][]byte{numbered(number, 9)}))
			synctest.Wait()
			require.NoError(t, p.fromNorth.Send([][]byte{numbered(number, 9)}))
			synctest.Wait()
		}
		ping(1)
		require.NoError(t, p.network.Cut(memory.Path{Link: "5g"}))
		ping(2)
		require.NoError(t, p.network.Cut(p.northward))
		ping(3)
		require.NoError(t, p.network.Cut(memory.Path{Link: "wifi"}))
		ping(4)
		p.network.Heal(p.northward)
		ping(5)
		p.network.Heal(memory.Path{Link: "wifi"})
		ping(6)
		require.Equal(t, []uint32{1, 2, 6}, p.atNorth.numbers())
		require.Equal(t, []uint32{1, 2, 3, 6}, p.atSouth.numbers())
		require.ErrorIs(t, p.network.Cut(memory.Path{Link: "wire"}), multilink.ErrUnknownLink)
	})
}

func TestNetwork_Carrier_isReported(t *testing.T) {
	onMemory(t, 1, func(t *testing.T, p *pair) {
		link, err := p.south.Link(t.Context(), "wifi")
		require.NoError(t, err)
		events := link.Events()
		require.True(t, (<-events).Up, "the state at the call comes first")
		require.NoError(t, p.network.Carrier("wifi", false))
		require.False(t, (<-events).Up)
		require.ErrorIs(t, p.fromSouth.Send([][]byte{numbered(1, 9)}), multilink.ErrLinkDown)
		require.ErrorIs(t, p.fromSouth.SendControl(numbered(1, 9)), multilink.ErrLinkDown)

		require.NoError(t, p.south.Carrier("wifi", false))
		require.NoError(t, p.network.Carrier("wifi", true))
		require.NoError(t, p.south.Carrier("wifi", true))
		require.True(t, (<-events).Up, "states in between are missed, the last is not")
		require.Empty(t, events)

		require.NoError(t, p.north.Carrier("wifi", false))
		require.NoError(t, p.fromSouth.Send([][]byte{numbered(2, 9)}), "the other end's carrier cannot be seen")
		synctest.Wait()
		require.Empty(t, p.atNorth.numbers())

		require.NoError(t, p.network.RemoveLink("wifi"))
		require.True(t, (<-events).Gone)
		require.NoError(t, link.Close())
		_, open := <-events
		require.False(t, open)
	})
}

func TestNetwork_Host_refusesATakenAddress(t *testing.T) {
	p := newPair(t, 1)
	defer p.network.Close()
	_, err := p.network.Host(northAddress)
	require.ErrorIs(t, err, multilink.ErrDuplicate)
	require.ErrorIs(t, p.south.Move("wifi", northAddress), multilink.ErrDuplicate)
	require.NoError(t, p.north.Close())
	_, err = p.network.Host(northAddress)
	require.NoError(t, err, "a host that is gone leaves its address")
	require.ErrorIs(t, p.network.AddLink("wifi", 0), multilink.ErrDuplicate)
	require.ErrorIs(t, p.network.AddLink("a b", 0), multilink.ErrInvalid)
	require.ErrorIs(t, p.network.Impair(memory.Path{}, memory.Impairment{Loss: 2}), multilink.ErrInvalid)
	require.NoError(t, p.network.Close())
	_, err = p.network.Host(netip.MustParseAddr("10.0.0.9"))
	require.ErrorIs(t, err, multilink.ErrClosed)
}

func TestNewPipe_countsDroppedFrames(t *testing.T) {
	a, b := memory.NewPipe(0)
	frame := make([]byte, 100)
	for range 2000 {
		require.NoError(t, a.Write([][]byte{frame}))
	}
	require.EqualValues(t, 2000-1024, a.Dropped())
	require.NoError(t, a.Write([][]byte{make([]byte, 1523)}))
	require.EqualValues(t, 2000-1024+1, a.Dropped(), "longer than its MTU, an Ethernet header and two tags")
	require.NoError(t, a.Close())
	got := 0
	var batch multilink.Batch
	for b.Read(&batch) == nil {
		got += len(batch.Frames())
		batch.Reset()
	}
	require.Equal(t, 1024, got)
	require.ErrorIs(t, b.Write([][]byte{frame}), multilink.ErrClosed)
}

func BenchmarkMemoryTunnel(b *testing.B) {
	for _, size := range []int{64, 1400} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			network := memory.NewNetwork(1, "wifi")
			defer network.Close()
			at, called := underlay(network, "10.0.0.1", multilink.Key{8})
			_, caller := underlay(network, "10.0.0.2", multilink.Key{16})
			one, _ := multilink.Key{8}.PublicKey()
			two, _ := multilink.Key{16}.PublicKey()
			_, err := called.Open(multilink.TunnelPeer{PublicKey: two}, func([][]byte) {})
			require.NoError(b, err)
			tunnel, err := caller.Open(multilink.TunnelPeer{PublicKey: one,
				Endpoint: netip.AddrPortFrom(at, called.Port())}, func([][]byte) {})
			require.NoError(b, err)
			batch := [][]byte{make([]byte, size)}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := tunnel.Send(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
