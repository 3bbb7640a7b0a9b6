package bond_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// mtu sets that of the tunnels of all links at both ends.
func (w *world) mtu(n int) {
	for _, e := range w.ends {
		for id := range w.links {
			e.bond.SetMTU(packet.LinkID(id), n)
		}
	}
}

func (w *world) narrow(name string, n int, directions ...int) {
	for _, from := range directions {
		w.wire(name, from).narrow = n
	}
}

func TestBond_Send_splitsFramesToWhatAPathCarries(t *testing.T) {
	for _, directions := range [][]int{{0, 1}, {0}, {1}} {
		w := newWorld(t, 1, settings.Bond{}, threeLinks())
		w.mtu(1434)
		w.settle()
		for _, e := range w.ends {
			require.Equal(t, 1434, e.link("wifi").PathMTU)
		}
		// From now on the primary swallows what is longer.
		w.narrow("wifi", 1340, directions...)
		w.stream(0, 5000, 1400, time.Millisecond)
		w.stream(1, 5000, 1400, time.Millisecond)
		w.run(2 * time.Second)
		for _, e := range w.ends {
			require.Equal(t, status.Up, e.link("wifi").State)
			require.InDelta(t, 1340-8, e.link("wifi").PathMTU, 8, "the smaller of both directions")
			require.Equal(t, 1434, e.link("mesh").PathMTU)
			e.got = nil
		}
		w.run(4 * time.Second)
		for _, e := range w.ends {
			require.Greater(t, len(e.got), 2990, "of 3,000")
			require.Equal(t, e.sent, e.got[len(e.got)-1].number)
			require.Zero(t, e.lost(e.sent)-int(e.got[0].number-1), "since the first that was seen")
		}

		w.narrow("wifi", 0, 0, 1)
		w.run(3 * time.Minute)
		for _, e := range w.ends {
			require.Equal(t, 1434, e.link("wifi").PathMTU, "it is tried again")
		}
	}
}

func TestBond_Tick_findsANarrowPathFromTheStart(t *testing.T) {
	for _, narrow := range []int{1430, 1200, 1000, 600} {
		w := newWorld(t, 1, settings.Bond{}, threeLinks())
		w.mtu(1434)
		w.narrow("wifi", narrow, 0, 1)
		w.settle()
		w.run(5 * time.Second)
		for _, e := range w.ends {
			require.InDelta(t, narrow-8, e.link("wifi").PathMTU, 8)
		}
		w.stream(0, 1000, 1400, time.Millisecond)
		w.run(2 * time.Second)
		require.Len(t, w.ends[1].got, 1000)
	}
}

func TestBond_Tick_searchesNothingWithAPeerOfAnEarlierRelease(t *testing.T) {
	for _, old := range []int{0, 1} {
		w := newWorld(t, 1, settings.Bond{}, threeLinks())
		w.mtu(1434)
		for _, link := range w.links {
			w.wire(link.Name, old).old = true
		}
		w.settle()
		w.run(time.Minute)
		require.Less(t, w.wire("wifi", 1-old).longest, 400, "probes are as short as before")
		require.Zero(t, w.ends[1-old].link("wifi").PathMTU)
		w.stream(0, 100, 1400, time.Millisecond)
		w.stream(1, 100, 1400, time.Millisecond)
		w.run(time.Second)
		for _, e := range w.ends {
			require.Len(t, e.got, 100)
			require.Zero(t, e.counters().Fragmented)
		}
	}
}

func TestBond_Tick_seldomConfirmsAPathThatCarriesNothing(t *testing.T) {
	links := threeLinks()
	links[2].Metered = true
	cost := func(search bool) (wifi, metered int) {
		w := newWorld(t, 1, settings.Bond{}, links)
		w.mtu(1434)
		for _, link := range links {
			w.wire(link.Name, 1).old = !search
		}
		w.settle()
		w.both("wifi", func(wire *wire) { wire.bytes = 0 })
		w.both("5g", func(wire *wire) { wire.bytes = 0 })
		w.run(30 * time.Minute)
		return w.wire("wifi", 0).bytes, w.wire("5g", 0).bytes
	}
	wifi, metered := cost(true)
	plainWifi, plainMetered := cost(false)
	require.Less(t, wifi-plainWifi, 61*1434, "one in 30 s")
	require.Positive(t, wifi-plainWifi)
	require.Less(t, metered-plainMetered, 4*1434, "one in ten minutes")
}
