package bond_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

func TestSender_repairsAGapTooShortForAFailover(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 20_000, 1300, 100*time.Microsecond)
	w.run(time.Second)
	w.cut("wifi", true, 0, 1)
	w.run(24 * time.Millisecond)
	w.cut("wifi", false, 0, 1)
	w.run(3 * time.Second)
	require.Zero(t, w.ends[0].switches())
	require.Zero(t, w.ends[1].lost(20_000))
	require.NotZero(t, w.ends[0].counters().Replayed)
}

func TestReplay_resendsFramesLostBeforeTheFailover(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 31, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 10_000, 1300, 100*time.Microsecond)
	w.run(500 * time.Millisecond)
	w.both("wifi", func(wire *wire) { wire.loss = 0.3 }) // it fades
	w.run(20 * time.Millisecond)
	w.cut("wifi", true, 0, 1)
	w.run(3 * time.Second)
	require.Zero(t, w.ends[1].lost(10_000))
}

func TestReplay_resendsLittleThatArrived(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 32, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 10_000, 1300, 100*time.Microsecond)
	w.run(500 * time.Millisecond)
	w.cut("wifi", true, 0, 1)
	w.run(3 * time.Second)
	require.Zero(t, w.ends[1].lost(10_000))
	require.Less(t, w.ends[1].counters().Duplicates, uint64(5))
	require.InDelta(t, 275, float64(w.ends[0].counters().Replayed), 60) // 22 to 33 ms
}

func TestReplay_acknowledge_passesLastingGaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 41, settings.Bond{}, threeLinks()[:1])
	w.classes(settings.Bond{}, []settings.Class{{Name: "voice", NoReplay: true}})
	w.settle()
	w.flow(0, 1_000, 100, time.Millisecond, 0, 0)
	w.wire("wifi", 0).loss = 0.2
	w.run(time.Second)
	w.wire("wifi", 0).loss = 0
	w.run(time.Second)
	before := w.ends[0].counters()
	w.stream(0, 2_000, 100, time.Millisecond)
	w.run(3 * time.Second)
	require.Equal(t, before.Evicted, w.ends[0].counters().Evicted)
	require.Equal(t, before.Replayed, w.ends[0].counters().Replayed)
}

func TestSender_pump_isPaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 33, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 10_000, 1300, 100*time.Microsecond)
	w.run(500 * time.Millisecond)
	w.cut("wifi", true, 0, 1)
	w.run(3 * time.Second)
	busiest, from := 0, 0
	for i, a := range w.ends[1].got {
		for w.ends[1].got[from].at <= a.at-10*time.Millisecond {
			from++
		}
		busiest = max(busiest, i-from+1)
	}
	require.Less(t, busiest, 280, "frames in 10 ms, of 100 without a replay") // twice, and a burst of 4 ms
	require.Greater(t, busiest, 150)
}

func TestSender_keepsTheOrderOnReturnFromASlowerLink(t *testing.T) {
	t.Parallel()
	for _, config := range []settings.Bond{{}, {NoReplay: true}, {Policy: settings.BalanceFlow}} {
		w := newWorld(t, 34, config, threeLinks()[:2])
		w.both("mesh", func(wire *wire) { wire.delay = 40 * time.Millisecond })
		w.settle()
		w.stream(0, 40_000, 200, 100*time.Microsecond)
		w.run(time.Second)
		w.outage(500*time.Millisecond, 5*time.Second)
		require.Zero(t, w.ends[1].disorder(), "%+v", config)
		if !config.NoReplay {
			require.Zero(t, w.ends[1].lost(40_000), "%+v", config)
		}
	}
}

func TestReplay_isBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 35, settings.Bond{ReplayBytes: 100_000}, threeLinks())
	w.settle()
	w.stream(0, 2_000, 1300, 100*time.Microsecond)
	w.run(100 * time.Millisecond)
	w.cut("wifi", true, 0, 1)
	w.run(time.Second)
	counters := w.ends[0].counters()
	lost := w.ends[1].lost(2_000)
	require.InDelta(t, 210, lost, 60) // 65 are kept of 220 to 330
	require.LessOrEqual(t, uint64(lost), counters.Evicted+counters.Dropped)

	w = newWorld(t, 36, settings.Bond{ReplayAge: 20 * time.Millisecond}, threeLinks())
	w.settle()
	w.stream(0, 2_000, 1300, 100*time.Microsecond)
	w.run(100 * time.Millisecond)
	w.cut("wifi", true, 0, 1)
	w.run(time.Second)
	require.InDelta(t, 100, w.ends[1].lost(2_000), 80)
}

func TestSender_dropsLateFramesOfAClassWithoutReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 37, settings.Bond{}, threeLinks())
	w.classes(settings.Bond{}, []settings.Class{{Name: "voice", NoReplay: true}, {Name: "soon", MaxDelay: 10 * time.Millisecond}})
	w.settle()
	w.flow(0, 2_000, 200, time.Millisecond, 0, 0)
	w.run(time.Second)
	w.outage(500*time.Millisecond, 3*time.Second)
	require.Zero(t, w.ends[0].counters().Replayed)
	require.InDelta(t, 27, w.ends[1].lost(2_000), 6)
	require.Zero(t, w.ends[1].disorder())

	w.ends[0].sent, w.ends[1].got = 0, nil
	w.flow(0, 2_000, 200, time.Millisecond, 1, 0)
	w.run(500 * time.Millisecond)
	w.outage(500*time.Millisecond, 3*time.Second)
	require.InDelta(t, 17, w.ends[1].lost(2_000), 7) // those of the last 10 ms were replayed
}

func TestSender_fragmentsLongFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 38, settings.Bond{}, threeLinks())
	for _, e := range w.ends {
		for id := range threeLinks() {
			e.bond.SetMTU(packet.LinkID(id), 1300+id)
		}
	}
	w.settle()
	w.stream(0, 5_000, 9014, time.Millisecond)
	w.run(time.Second)
	w.outage(500*time.Millisecond, 6*time.Second)
	require.Zero(t, w.ends[1].lost(5_000))
	require.Zero(t, w.ends[1].disorder())
	sent, received := w.ends[0].counters(), w.ends[1].counters()
	require.Equal(t, uint64(5_000), sent.Fragmented)
	require.Equal(t, uint64(5_000), received.Reassembled)
	require.Equal(t, uint64(5_000*9014), received.RxBytes)
	require.Zero(t, received.Incomplete)
}

func TestBond_Configure_losesNoFrame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 39, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 20_000, 500, time.Millisecond)
	w.run(time.Second)
	e := w.ends[0]
	for i, policy := range append(settings.Policies(), settings.ActiveBackup) {
		e.do(func() {
			require.NoError(t, e.bond.Configure(w.now, settings.Bond{Policy: policy}, make([]settings.Class, i%3), &e.out))
		})
		w.run(time.Second)
	}
	ids := map[string]packet.LinkID{}
	for _, link := range w.links {
		ids[link.Name], _ = e.bond.LinkID(link.Name)
	}
	changed := threeLinks()
	changed[0].Priority, changed[1].Priority = 2, 1
	w.links = append(changed[:2:2], settings.Link{Name: "eth", Kind: settings.Ethernet, Priority: 0})
	w.wires[wireKey{"eth", 0}], w.wires[wireKey{"eth", 1}] = &wire{}, &wire{}
	for _, e := range w.ends {
		e.do(func() { require.NoError(t, e.bond.SetLinks(w.now, w.links, &e.out)) })
	}
	for _, name := range []string{"wifi", "mesh"} {
		id, ok := e.bond.LinkID(name)
		require.True(t, ok)
		require.Equal(t, ids[name], id)
	}
	id, _ := e.bond.LinkID("eth")
	require.NotContains(t, ids, id)
	w.run(3 * time.Second)
	require.Equal(t, "eth", e.active())
	w.run(15 * time.Second)
	require.Zero(t, w.ends[1].lost(20_000))
	require.Zero(t, w.ends[1].disorder())

	before := e.bond.Status(w.now)
	for _, wrong := range [][]settings.Link{
		{{Name: "a", Kind: settings.WiFi, Priority: 1}, {Name: "b", Kind: settings.WiFi, Priority: 1}},
		{{Name: "a", Kind: settings.WiFi, Priority: 1}, {Name: "a", Kind: settings.WiFi, Priority: 2}},
	} {
		require.ErrorIs(t, e.bond.SetLinks(w.now, wrong, &e.out), fault.ErrDuplicate)
	}
	require.ErrorIs(t, e.bond.SetLinks(w.now, []settings.Link{{Name: "a"}}, &e.out), fault.ErrInvalid)
	require.ErrorIs(t, e.bond.SetLinks(w.now, make([]settings.Link, 33), &e.out), fault.ErrInvalid)
	require.ErrorIs(t, e.bond.Configure(w.now, settings.Bond{Policy: "best"}, nil, &e.out), fault.ErrInvalid)
	require.ErrorIs(t, e.bond.Configure(w.now, settings.Bond{}, []settings.Class{{Policy: "best"}}, &e.out), fault.ErrInvalid)
	require.Equal(t, before, e.bond.Status(w.now))
	require.Empty(t, e.out.Packets)
}

func TestBond_SetLinks_disablesALinkWithoutLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 40, settings.Bond{NoReplay: true}, threeLinks())
	w.settle()
	w.stream(0, 10_000, 500, 200*time.Microsecond)
	w.stream(1, 10_000, 500, 200*time.Microsecond)
	w.run(time.Second)
	links := threeLinks()
	links[0].Disabled = true
	e := w.ends[0]
	e.do(func() { require.NoError(t, e.bond.SetLinks(w.now, links, &e.out)) })
	w.run(100 * time.Millisecond)
	require.Equal(t, status.Disabled, e.bond.Status(w.now).Links[0].State)
	require.Equal(t, status.Down, w.ends[1].bond.Status(w.now).Links[0].State)
	require.Zero(t, w.ends[1].counters().Evicted)
	e.do(func() { require.NoError(t, e.bond.SetLinks(w.now, threeLinks(), &e.out)) })
	w.run(3 * time.Second)
	require.Equal(t, "wifi", e.active())
	require.Zero(t, w.ends[1].lost(10_000))
}
