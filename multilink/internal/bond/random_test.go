package bond_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Whatever happens to the links: no frame comes twice, none is invented, and
// when all is well again frames pass over the primary, in order.
func TestBond_keepsItsInvariantsUnderRandomFaults(t *testing.T) {
	t.Parallel()
	policies := settings.Policies()
	for seed := range uint64(32) {
		config := settings.Bond{Policy: policies[seed%4], NoReplay: seed%7 == 6}
		t.Run(fmt.Sprintf("seed %d %s", seed, config.Policy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1000+seed, config, threeLinks())
			w.run(time.Duration(w.rng.Int64N(int64(time.Second))))
			for from := range 2 {
				w.stream(from, 8_000, 100+w.rng.IntN(1900), time.Millisecond)
			}
			restarted := 0
			for range 40 {
				w.upset(&restarted, config)
				w.run(time.Duration(w.rng.Int64N(int64(300 * time.Millisecond))))
			}
			w.calm()
			w.run(25 * time.Second) // the longest wait to restore is 16 s
			for _, e := range w.ends {
				current := e.bond.Status(w.now)
				require.True(t, current.Connected)
				require.Equal(t, "wifi", current.ActiveLink)
				for _, link := range current.Links {
					require.Equal(t, status.Up, link.State, link.Name)
				}
				if restarted == 0 {
					e.lost(0) // none came twice
				}
				for _, a := range e.got {
					require.LessOrEqual(t, a.number, w.ends[1-e.index].sent)
				}
			}
			for from, e := range w.ends {
				e.got, e.sent = nil, 0
				w.stream(from, 1_000, 500, time.Millisecond)
			}
			w.run(3 * time.Second)
			for _, e := range w.ends {
				require.Zero(t, e.lost(1_000))
				require.Zero(t, e.disorder())
			}
		})
	}
}

// upset does something to a link or an end.
func (w *world) upset(restarted *int, config settings.Bond) {
	link := w.links[w.rng.IntN(len(w.links))]
	one := w.wire(link.Name, w.rng.IntN(2))
	end := w.ends[w.rng.IntN(2)]
	switch w.rng.IntN(14) {
	case 0, 1:
		w.cut(link.Name, true, 0, 1)
	case 2:
		one.cut = true
	case 3, 4, 5:
		w.cut(link.Name, false, 0, 1)
	case 6:
		one.loss = w.rng.Float64() / 2
	case 7:
		one.delay, one.jitter = 50*time.Millisecond, time.Duration(w.rng.Int64N(int64(40*time.Millisecond)))
		one.unordered = true
	case 8:
		one.twice = w.rng.Float64()
	case 9:
		w.stall(end.index, time.Duration(w.rng.Int64N(int64(150*time.Millisecond))))
	case 10:
		end.do(func() {
			id, _ := end.bond.LinkID(link.Name)
			end.bond.Carrier(w.now, id, w.rng.IntN(2) == 0, "random", &end.out)
		})
	case 11:
		end.do(func() {
			config.Policy = settings.Policies()[w.rng.IntN(4)]
			classes := make([]settings.Class, w.rng.IntN(3))
			require.NoError(w.t, end.bond.Configure(w.now, config, classes, &end.out))
		})
	case 12:
		end.do(func() {
			_ = end.bond.Switch(w.now, link.Name, time.Duration(1+w.rng.IntN(4))*time.Second, &end.out) // refused where it is down
		})
	case 13:
		if w.rng.IntN(4) == 0 && !w.now.Before(end.stalled) {
			*restarted++
			w.boot(end.index, config)
		}
	}
}

// calm has everything work again.
func (w *world) calm() {
	for i, link := range w.links {
		w.both(link.Name, func(wire *wire) {
			*wire = simulatedWire(i)
		})
		for _, e := range w.ends {
			e.do(func() {
				id, _ := e.bond.LinkID(link.Name)
				e.bond.Carrier(w.now, id, true, "calm", &e.out)
			})
		}
	}
}

func simulatedWire(i int) wire { return wire{delay: time.Duration(i+1) * time.Millisecond} }
