//go:build linux

package kernel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// pair are the watches of the two ends of a link, and the time.
type pair struct {
	here, there *watch
	now         time.Duration
	delay       time.Duration
	flying      []flight
	// What the link drops, by direction.
	dropTo, dropFrom bool
	// Every n-th probe from there is lost. Zero means none.
	every, count int
	// Packets that are longer are swallowed. Zero means none.
	narrow int
	// The other end is of an earlier release.
	old bool
	// The longest packet that was sent.
	longest int
}

type flight struct {
	to   *watch
	at   time.Duration
	what probe
	size int
}

const step = 10 * time.Millisecond

// tunnelMTU is that of the tunnels of all tests.
const tunnelMTU = 1420

func newPair(delay time.Duration) *pair {
	c := settings.Probe{Interval: step, Multiplier: 3}
	return &pair{here: newWatch(c, 0, tunnelMTU), there: newWatch(c, 0, tunnelMTU), now: step, delay: delay}
}

// run lets time pass, and returns the states of this end, as they came.
func (p *pair) run(d time.Duration) []status.State {
	var states []status.State
	for end := p.now + d; p.now < end; p.now += step {
		var left []flight
		for _, f := range p.flying {
			if f.at <= p.now {
				f.to.take(p.now, f.what, f.size)
			} else {
				left = append(left, f)
			}
		}
		p.flying = left
		if p.here.tick(p.now) {
			states = append(states, p.here.state)
		}
		p.there.tick(p.now)
		p.send(p.here, p.there, p.dropTo)
		p.count++
		p.send(p.there, p.here, p.dropFrom || (p.every != 0 && p.count%p.every == 0))
	}
	return states
}

// send has a watch send what is due, as the loop of a link does.
func (p *pair) send(from, to *watch, drop bool) {
	out := from.probe(p.now)
	packets := [][]byte{out.append(nil)}
	if length := from.trial(p.now, false); length > 0 {
		packets = append(packets, out.padded(length))
	}
	if p.old && from == p.there {
		packets = [][]byte{append(packets[0][:6], append([]byte{0, 0}, packets[0][8:probeSize]...)...)}
	}
	for _, packet := range packets {
		size := len(packet) + probeHeaders
		p.longest = max(p.longest, size)
		if drop || (p.narrow > 0 && size > p.narrow) || (p.old && to == p.there && len(packet) != probeSize) {
			continue
		}
		if got, err := parseProbe(packet); err == nil {
			p.flying = append(p.flying, flight{to, p.now + p.delay, got, size})
		}
	}
}

func TestWatch_comesUpAndMeasures(t *testing.T) {
	p := newPair(20 * time.Millisecond)
	require.Equal(t, []status.State{status.Up}, p.run(10*time.Second))
	require.InDelta(t, 40*time.Millisecond, p.here.srtt, float64(2*time.Millisecond))
	require.Zero(t, p.here.lossRx())
}

func TestWatch_measuresLossByDirection(t *testing.T) {
	p := newPair(step)
	p.every = 5
	p.run(5 * time.Second)
	require.Equal(t, status.Up, p.here.state)
	require.InDelta(t, 0.2, p.here.lossRx(), 0.02)
	require.InDelta(t, 0.2, p.there.lossTx, 0.02)
	require.Zero(t, p.there.lossRx())
}

func TestWatch_isDownWhenEitherDirectionIsSilent(t *testing.T) {
	for name, cut := range map[string]func(*pair){
		"both":          func(p *pair) { p.dropTo, p.dropFrom = true, true },
		"what it sends": func(p *pair) { p.dropTo = true },
		"what it hears": func(p *pair) { p.dropFrom = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(time.Millisecond)
			p.run(time.Second)
			cut(p)
			require.Equal(t, []status.State{status.Down}, p.run(8*step))
			require.NotEqual(t, status.Up, p.there.state)
			p.dropTo, p.dropFrom = false, false
			require.Equal(t, []status.State{status.Probing, status.Up}, p.run(time.Second))
		})
	}
}

func TestWatch_waitsLongerAfterEachRelapse(t *testing.T) {
	p := newPair(time.Millisecond)
	p.run(time.Second)
	var waits []time.Duration
	for range 8 {
		p.dropFrom = true
		p.run(20 * step)
		p.dropFrom = false
		before := p.now
		for p.here.state != status.Up {
			p.run(step)
		}
		waits = append(waits, (p.now - before).Round(500*time.Millisecond))
	}
	require.Equal(t, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
		8 * time.Second, 16 * time.Second, 16 * time.Second, 16 * time.Second}, waits)
}

func TestWatch_forgivesAStallOfTheProcess(t *testing.T) {
	p := newPair(time.Millisecond)
	p.run(time.Second)
	p.now += 300 * time.Millisecond // neither end did anything
	require.Empty(t, p.run(time.Second))
	require.Equal(t, status.Up, p.here.state)
}

func TestWatch_adoptsARestartedPeer(t *testing.T) {
	p := newPair(time.Millisecond)
	p.run(5 * time.Second)
	p.there = newWatch(settings.Probe{Interval: step, Multiplier: 3}, 0, tunnelMTU)
	p.flying = nil
	p.run(3 * time.Second)
	require.Equal(t, status.Up, p.here.state)
	require.Equal(t, status.Up, p.there.state)
}

func TestWatch_findsTheLengthThatALinkCarries(t *testing.T) {
	p := newPair(20 * time.Millisecond)
	both := func(check func(w *watch)) {
		check(p.here)
		check(p.there)
	}
	p.run(2 * time.Second)
	both(func(w *watch) { require.Equal(t, tunnelMTU, w.path.Known()) })

	for _, narrow := range []int{1330, 900, 600} {
		p.narrow = narrow
		require.Empty(t, p.run(6*time.Second), "it carries short packets all the time")
		both(func(w *watch) {
			require.InDelta(t, narrow-8, w.path.Length(), 8)
			require.Equal(t, w.path.Length(), w.path.Known())
			require.Zero(t, w.lossRx(), "a probe that is too long is not a loss")
		})
	}
	p.narrow = 0
	require.Empty(t, p.run(3*time.Minute))
	both(func(w *watch) { require.Equal(t, tunnelMTU, w.path.Known(), "it is tried again") })
}

func TestWatch_searchesNothingWithAPeerOfAnEarlierRelease(t *testing.T) {
	p := newPair(time.Millisecond)
	p.run(time.Second)
	p.old = true
	p.there = newWatch(settings.Probe{Interval: step, Multiplier: 3}, 0, tunnelMTU)
	p.flying = nil
	p.run(2 * time.Second)
	p.longest = 0
	p.run(time.Minute)
	require.Equal(t, status.Up, p.here.state)
	require.Equal(t, status.Up, p.there.state)
	require.Equal(t, probeSize+probeHeaders, p.longest, "it refuses what is longer")
	require.Zero(t, p.here.path.Known())
	require.Equal(t, tunnelMTU, p.here.path.Length())
}
