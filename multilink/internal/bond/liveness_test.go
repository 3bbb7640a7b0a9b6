package bond_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

func TestBond_Tick_keepsLinksThroughAStall(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		w := newWorld(t, 2, settings.Bond{}, threeLinks())
		w.settle()
		if busy {
			w.stream(0, 100_000, 200, 500*time.Microsecond)
			w.stream(1, 100_000, 200, 500*time.Microsecond)
		}
		for i := range 200 { // 40 to 116 ms, of one end or both
			stall := time.Duration(40+i*76/200) * time.Millisecond
			w.stall(i%2, stall)
			if i%5 == 0 {
				w.run(time.Duration(w.rng.Int64N(int64(20 * time.Millisecond))))
				w.stall(1-i%2, stall)
			}
			w.run(stall + time.Duration(w.rng.Int64N(int64(200*time.Millisecond))))
		}
		for _, e := range w.ends {
			require.Zero(t, e.switches(), "%+v", e.events)
			for _, event := range e.events {
				require.NotEqual(t, status.Down, event.State, "%+v", event)
			}
		}
	}
}

func TestBond_Tick_keepsLinksWhilePacketsAreUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 13, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 40_000, 200, time.Millisecond)
	w.stream(1, 40_000, 200, time.Millisecond)
	for i := range 150 {
		d := time.Duration(40+i*76/150) * time.Millisecond
		w.deafen(i%2, d, time.Duration(i%10)*time.Millisecond)
		w.run(d + 100*time.Millisecond + time.Duration(w.rng.Int64N(int64(100*time.Millisecond))))
	}
	for _, e := range w.ends {
		require.Zero(t, e.switches(), "%+v", e.events)
	}
}

func TestMonitor_waitsLongerForTheOnlyLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, settings.Bond{}, threeLinks()[:1])
	w.settle()
	w.cut("wifi", true, 0, 1)
	w.run(250 * time.Millisecond)
	require.Equal(t, status.Suspect, w.ends[0].bond.Status(w.now).Links[0].State)
	w.run(100 * time.Millisecond)
	require.Equal(t, status.Down, w.ends[0].bond.Status(w.now).Links[0].State)
	require.False(t, w.ends[0].bond.Status(w.now).Connected)
	w.cut("wifi", false, 0, 1)
	w.run(1100 * time.Millisecond) // probes are slow on a dead link
	require.True(t, w.ends[0].bond.Status(w.now).Connected)
	require.Equal(t, "wifi", w.ends[1].active())
}

func TestMonitor_leavesASilentLinkInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, settings.Bond{}, threeLinks())
	w.settle()
	w.cut("wifi", true, 0, 1)
	w.run(26 * time.Millisecond)
	require.Equal(t, "wifi", w.ends[0].active())
	require.Equal(t, status.Suspect, w.ends[0].bond.Status(w.now).Links[0].State)
	w.run(9 * time.Millisecond)
	require.Equal(t, "mesh", w.ends[0].active())
	require.Equal(t, "mesh", w.ends[1].active())
}

func TestMonitor_doesNotFlapOnJitter(t *testing.T) {
	t.Parallel()
	for _, unordered := range []bool{false, true} {
		w := newWorld(t, 5, settings.Bond{}, threeLinks()[2:])
		w.both("5g", func(wire *wire) {
			wire.delay = 40 * time.Millisecond
			wire.jitter = 20 * time.Millisecond
			wire.unordered = unordered
		})
		w.settle()
		w.stream(0, 60_000, 100, time.Millisecond)
		w.run(time.Minute)
		for _, e := range w.ends {
			require.Empty(t, e.events)
			link := e.bond.Status(w.now).Links[0]
			require.InDelta(t, 80*time.Millisecond, link.RTT, float64(20*time.Millisecond))
			require.InDelta(t, 13*time.Millisecond, link.Jitter, float64(12*time.Millisecond))
			require.Zero(t, link.LossRx)
		}
	}
}

func TestMonitor_doesNotFlapOnAJitteryBackup(t *testing.T) {
	t.Parallel()
	for _, unordered := range []bool{false, true} {
		w := newWorld(t, 6, settings.Bond{}, threeLinks())
		w.both("5g", func(wire *wire) {
			wire.delay = 40 * time.Millisecond
			wire.jitter = 20 * time.Millisecond
			wire.unordered = unordered
		})
		w.settle()
		w.run(time.Minute)
		for _, e := range w.ends {
			require.Empty(t, e.events)
		}
	}
}

func TestMonitor_waitsLongerAfterEachRelapse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 7, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 60_000, 100, time.Millisecond)
	for range 12 {
		w.outage(500*time.Millisecond, 3*time.Second)
	}
	require.LessOrEqual(t, w.ends[0].switches(), 12)
	w.run(20 * time.Second)
	require.Equal(t, "wifi", w.ends[0].active())
	require.Zero(t, w.ends[1].lost(60_000))

	// What happened long ago is forgiven.
	w.run(6 * time.Minute)
	w.cut("wifi", true, 0, 1)
	w.run(500 * time.Millisecond)
	require.Equal(t, "mesh", w.ends[0].active())
	w.cut("wifi", false, 0, 1)
	w.run(1600 * time.Millisecond) // a second until it is heard
	require.Equal(t, "wifi", w.ends[0].active())
}

func TestBond_recoversWhenAllLinksWereDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8, settings.Bond{}, threeLinks())
	w.settle()
	all := func(cut bool) {
		for _, link := range w.links {
			w.cut(link.Name, cut, 0, 1)
		}
	}
	w.stream(0, 20_000, 100, time.Millisecond)
	w.run(time.Second)
	all(true) // shorter than the replay buffer
	w.run(150 * time.Millisecond)
	all(false)
	w.run(5 * time.Second)
	require.Zero(t, w.ends[1].lost(w.ends[0].sent-10))
	require.Zero(t, w.ends[0].switches())

	all(true)
	w.run(5 * time.Second)
	require.False(t, w.ends[0].bond.Status(w.now).Connected)
	all(false)
	w.run(1200 * time.Millisecond)
	require.True(t, w.ends[0].bond.Status(w.now).Connected)
	before := len(w.ends[1].got)
	w.run(2 * time.Second)
	require.Equal(t, "wifi", w.ends[0].active())
	require.Equal(t, "wifi", w.ends[1].active())
	require.GreaterOrEqual(t, len(w.ends[1].got)-before, 2000)
	w.ends[1].lost(0) // nothing twice
}

func TestPeering_adoptsARestartedPeerAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		restarted := i % 2
		w := newWorld(t, 9, settings.Bond{}, threeLinks())
		if i >= 2 { // the news comes over another link than the frames
			w.both("wifi", func(wire *wire) { wire.delay = 4 * time.Millisecond })
		}
		w.settle()
		w.stream(0, 8_000, 100, time.Millisecond)
		w.run(time.Second)
		w.boot(restarted, settings.Bond{})
		w.run(100 * time.Millisecond)
		require.Equal(t, "wifi", w.ends[0].active(), "%d restarted", restarted)
		require.Equal(t, "wifi", w.ends[1].active())
		w.run(8 * time.Second)
		require.Less(t, w.ends[1].lost(8_000), 100)
		if i < 2 {
			require.Zero(t, w.ends[0].counters().Failovers+w.ends[1].counters().Failovers)
		}
	}
}

func TestPeering_ignoresAProbeOfAnEarlierLife(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		w := newWorld(t, 10, settings.Bond{}, threeLinks())
		w.settle()
		w.wire("5g", 0).delay = 30 * time.Second // the network keeps what the first life of end 0 says
		w.run(time.Second)
		w.boot(0, settings.Bond{})
		if both { // so that end 1 does not know of that life
			w.run(10 * time.Millisecond)
			w.boot(1, settings.Bond{})
		}
		w.run(3 * time.Second)
		w.wire("5g", 0).delay = 3 * time.Millisecond
		w.wire("5g", 0).unordered = true
		w.run(3 * time.Second)
		for _, e := range w.ends {
			e.events = nil
		}
		w.run(40 * time.Second)
		for _, e := range w.ends {
			require.Empty(t, e.events)
			require.Equal(t, "wifi", e.active())
		}
	}
}

func TestBond_Failed_leavesTheLinkAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 11, settings.Bond{}, threeLinks())
	w.settle()
	w.cut("wifi", true, 0, 1)
	e := w.ends[0]
	e.do(func() {
		id, _ := e.bond.LinkID("wifi")
		e.bond.Failed(w.now, id, errors.New("network is unreachable"), &e.out)
	})
	require.Equal(t, "mesh", e.active())
	require.Equal(t, "network is unreachable", e.bond.Status(w.now).Links[0].Reason)
	w.run(5 * time.Millisecond) // the others report it to the peer
	require.Equal(t, "mesh", w.ends[1].active())
	w.cut("wifi", false, 0, 1)
	w.run(2 * time.Second)
	require.Equal(t, "wifi", e.active())
}

func TestPeering_usesTheSlowerInterval(t *testing.T) {
	t.Parallel()
	links := threeLinks()
	w := newWorld(t, 12, settings.Bond{}, links)
	slower := threeLinks()
	slower[0].Probe = settings.Probe{Interval: 200 * time.Millisecond, Multiplier: 5}
	e := w.ends[0]
	e.do(func() { require.NoError(t, e.bond.SetLinks(w.now, slower, &e.out)) })
	w.settle()
	before := w.wire("wifi", 1).bytes
	w.run(10 * time.Second)
	require.Less(t, w.wire("wifi", 1).bytes-before, 60*250)
	require.Empty(t, e.events)
	w.cut("wifi", true, 0, 1)
	w.run(800 * time.Millisecond)
	require.Equal(t, "wifi", w.ends[1].active())
	w.run(300 * time.Millisecond)
	require.Equal(t, "mesh", w.ends[1].active())
}
