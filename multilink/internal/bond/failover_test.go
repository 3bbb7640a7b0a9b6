package bond_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/settings"
)

// outage is something that happens to the primary.
type outage struct {
	name  string
	start func(*world)
	end   func(*world)
}

func outages() []outage {
	carrier := func(up bool) func(*world) {
		return func(w *world) {
			w.cut("wifi", !up, 0, 1)
			for _, e := range w.ends {
				e.do(func() {
					id, _ := e.bond.LinkID("wifi")
					e.bond.Carrier(w.now, id, up, "carrier", &e.out)
				})
			}
		}
	}
	cut := func(directions ...int) outage {
		return outage{
			fmt.Sprintf("silent %v", directions),
			func(w *world) { w.cut("wifi", true, directions...) },
			func(w *world) { w.cut("wifi", false, directions...) },
		}
	}
	return []outage{cut(0, 1), cut(0), cut(1), {"carrier", carrier(false), carrier(true)}}
}

func TestBond_failover_losesNothing(t *testing.T) {
	t.Parallel()
	configs := map[string]settings.Bond{
		"replay":       {},
		"redundant":    {Policy: settings.Redundant},
		"two copies":   {Policy: settings.Redundant, Copies: 2},
		"adaptive":     {Policy: settings.Adaptive},
		"balance-flow": {Policy: settings.BalanceFlow},
	}
	for name, config := range configs {
		for _, outage := range outages() {
			t.Run(name+"/"+outage.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1, config, threeLinks())
				w.settle()
				frames := 15_000
				if name == "replay" || name == "redundant" {
					frames = 30_000
				}
				for flow := range 10 {
					w.flow(0, frames/10, 1300, time.Millisecond, -1, uint32(flow))
					w.flow(1, frames/10, 1300, time.Millisecond, -1, uint32(flow))
				}
				w.after(500*time.Millisecond, func() { outage.start(w) })
				w.after(time.Second, func() { outage.end(w) })
				w.run(5 * time.Second)
				for _, e := range w.ends {
					require.Equal(t, uint64(frames), e.sent)
					require.Zero(t, e.lost(uint64(frames)), "frames to end %d", e.index)
					require.Equal(t, "wifi", e.active())
					require.LessOrEqual(t, e.gap(), 35*time.Millisecond)
					switch config.Policy {
					case settings.Redundant: // the quicker link is first when it comes back
						require.Less(t, e.disorder(), 20)
					case settings.BalanceFlow: // see TestSelector_balance_keepsTheLinkOfAFlow
					default:
						require.Zero(t, e.disorder(), "frames to end %d", e.index)
					}
					t.Logf("end %d: gap %v, disorder %d, %+v", e.index, e.gap(), e.disorder(), e.counters())
				}
			})
		}
	}
}

func TestBond_failover_takesThreeAndAHalfIntervals(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		for _, directions := range [][]int{{0}, {1}, {0, 1}} {
			links := threeLinks()
			for i := range links {
				links[i].Probe.Interval = interval
			}
			w := newWorld(t, 2, settings.Bond{}, links)
			for _, link := range links {
				w.both(link.Name, func(wire *wire) { wire.delay = interval / 50 })
			}
			w.settle()
			w.stream(0, 4_000, 100, 200*time.Microsecond)
			w.after(500*time.Millisecond, func() { w.cut("wifi", true, directions...) })
			w.run(2 * time.Second)
			require.Zero(t, w.ends[1].lost(4_000), "%v", interval)
			require.Equal(t, 1, w.ends[0].switches())
			require.LessOrEqual(t, w.ends[1].gap(), interval*7/2, "%v", interval)
		}
	}
}

// A backup that costs money may be probed seldom: what it says is asked for when
// the primary is late.
func TestBond_failover_isInTimeWithASlowlyProbedBackup(t *testing.T) {
	t.Parallel()
	for _, directions := range [][]int{{0}, {1}, {0, 1}} {
		links := threeLinks()[1:]
		links[1].Probe.Interval = 500 * time.Millisecond
		w := newWorld(t, 3, settings.Bond{}, links)
		w.settle()
		w.stream(0, 5_000, 100, 200*time.Microsecond)
		w.run(230 * time.Millisecond)
		w.cut("mesh", true, directions...)
		w.run(2 * time.Second)
		require.Zero(t, w.ends[1].lost(5_000))
		require.Equal(t, "5g", w.ends[0].active())
		require.Equal(t, "5g", w.ends[1].active())
		require.LessOrEqual(t, w.ends[1].gap(), 40*time.Millisecond, "%v", directions)
	}
}

func TestBond_failover_hasABoundedGapWithoutReplay(t *testing.T) {
	t.Parallel()
	for _, outage := range outages() {
		t.Run(outage.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, settings.Bond{NoReplay: true}, threeLinks())
			w.settle()
			const frames = 30_000
			w.stream(0, frames, 1300, 100*time.Microsecond)
			w.stream(1, frames, 1300, 100*time.Microsecond)
			w.after(time.Second, func() { outage.start(w) })
			w.after(1500*time.Millisecond, func() { outage.end(w) })
			w.run(4 * time.Second)
			for _, e := range w.ends {
				require.LessOrEqual(t, e.gap(), 35*time.Millisecond)
				require.Less(t, e.lost(frames), 350)
				require.Zero(t, e.disorder())
				require.Equal(t, "wifi", e.active())
				t.Logf("end %d: gap %v lost %d", e.index, e.gap(), e.lost(frames))
			}
		})
	}
}
