package bond_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// outage cuts the primary for a while, and waits.
func (w *world) outage(d, wait time.Duration) {
	w.cut("wifi", true, 0, 1)
	w.run(d)
	w.cut("wifi", false, 0, 1)
	w.run(wait)
}

func TestSelector_reselect_decidesWhenToReturn(t *testing.T) {
	t.Parallel()
	for reselect, want := range map[settings.Reselect]string{
		"": "wifi", settings.ReselectAlways: "wifi", settings.ReselectBetter: "mesh", settings.ReselectFailure: "mesh",
	} {
		w := newWorld(t, 20, settings.Bond{Reselect: reselect}, threeLinks())
		w.both("wifi", func(wire *wire) { wire.delay = 4 * time.Millisecond })
		w.settle()
		w.outage(time.Second, 3*time.Second)
		require.Equal(t, want, w.ends[0].active(), "%q", reselect)
		if want == "wifi" {
			continue
		}
		w.cut("mesh", true, 0, 1)
		w.run(100 * time.Millisecond)
		require.Equal(t, "wifi", w.ends[0].active(), "%q", reselect)
	}
}

func TestSelector_reselectBetter_followsTheRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 28, settings.Bond{Reselect: settings.ReselectBetter}, threeLinks())
	w.both("wifi", func(wire *wire) { wire.delay = 4 * time.Millisecond })
	w.settle()
	w.outage(time.Second, 3*time.Second)
	require.Equal(t, "mesh", w.ends[0].active())
	w.both("wifi", func(wire *wire) { wire.delay = time.Millisecond })
	w.run(3 * time.Second)
	require.Equal(t, "wifi", w.ends[0].active())
}

func TestSender_pump_sendsControlClassesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 29, settings.Bond{}, threeLinks())
	w.classes(settings.Bond{}, []settings.Class{{Name: "control", Control: true}})
	w.settle()
	w.flow(0, 10_000, 1300, 100*time.Microsecond, -1, 0)
	w.flow(0, 1_000, 100, time.Millisecond, 0, 1)
	w.run(500 * time.Millisecond)
	w.cut("wifi", true, 0, 1)
	last := time.Duration(0) // when control was late for the last time
	w.ends[1].answered = func(frame []byte) {
		// Every eleventh frame is one of control, one a millisecond.
		number := time.Duration(binary.BigEndian.Uint64(frame))
		if sent := 3*time.Second + number/11*time.Millisecond; number%11 == 1 && w.elapsed()-sent > 3*time.Millisecond {
			last = w.elapsed()
		}
	}
	w.run(2 * time.Second)
	require.Zero(t, w.ends[1].lost(11_000))
	require.NotZero(t, last)
	require.Less(t, last, 3537*time.Millisecond, "the backlog takes 30 ms more")
}

func TestSelector_returnsToThePrimaryAfterTheWait(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 2 * time.Second} {
		w := newWorld(t, 21, settings.Bond{WaitToRestore: wait}, threeLinks())
		w.settle()
		w.cut("wifi", true, 0, 1)
		w.run(time.Second)
		w.cut("wifi", false, 0) // one way is not enough
		w.run(10 * time.Second)
		require.Equal(t, "mesh", w.ends[0].active())
		require.Equal(t, "mesh", w.ends[1].active())
		w.cut("wifi", false, 1)
		if wait == 0 {
			wait = 500 * time.Millisecond
		}
		w.run(wait - 10*time.Millisecond)
		require.Equal(t, "mesh", w.ends[0].active())
		w.run(1100 * time.Millisecond)
		require.Equal(t, "wifi", w.ends[0].active())
		require.Equal(t, "wifi", w.ends[1].active())
	}
}

func TestSelector_usesMeteredAndOverQuotaLinksLast(t *testing.T) {
	t.Parallel()
	links := threeLinks()
	links[1].Metered = true
	links[2].Quota = 200_000
	w := newWorld(t, 22, settings.Bond{}, links)
	w.settle()
	require.Equal(t, "wifi", w.ends[0].active())
	w.cut("wifi", true, 0, 1)
	w.run(100 * time.Millisecond)
	require.Equal(t, "5g", w.ends[0].active(), "the mesh is metered")
	w.stream(0, 200, 1000, time.Millisecond)
	w.run(time.Second)
	require.Equal(t, "mesh", w.ends[0].active(), "5g has carried its quota")
	require.Zero(t, w.ends[1].lost(200))
	w.cut("mesh", true, 0, 1)
	w.run(100 * time.Millisecond)
	require.Equal(t, "5g", w.ends[0].active(), "nothing else is left")
	w.ends[0].do(func() {
		links[2].Quota = 0
		require.NoError(t, w.ends[0].bond.SetLinks(w.now, links, &w.ends[0].out))
	})
	w.cut("mesh", false, 0, 1)
	w.run(3 * time.Second)
	require.Equal(t, "5g", w.ends[0].active())
}

func TestSelector_choosesLinksByClass(t *testing.T) {
	t.Parallel()
	links := threeLinks()
	links[1].Metered = true
	w := newWorld(t, 23, settings.Bond{}, links)
	w.classes(settings.Bond{}, []settings.Class{
		{Name: "bulk", Links: []string{"5g"}},
		{Name: "alarm", Policy: settings.Redundant},
		{Name: "voice", Policy: settings.Redundant, Metered: true, Copies: 2},
		{Name: "dead", Links: []string{"none"}, NoReplay: true},
	})
	w.settle()
	bytes := func(class int) (by [3]int) {
		before := [3]int{}
		for i, link := range links {
			before[i] = w.wire(link.Name, 0).bytes
		}
		w.flow(0, 100, 1000, time.Millisecond, class, 0)
		w.run(200 * time.Millisecond)
		for i, link := range links {
			by[i] = (w.wire(link.Name, 0).bytes - before[i]) / 100_000
		}
		return by
	}
	require.Equal(t, [3]int{1, 0, 0}, bytes(-1))
	require.Equal(t, [3]int{0, 0, 1}, bytes(0))
	require.Equal(t, [3]int{1, 0, 1}, bytes(1))
	require.Equal(t, [3]int{1, 1, 0}, bytes(2))
	dropped := w.ends[0].counters().Dropped
	require.Equal(t, [3]int{0, 0, 0}, bytes(3))
	require.Equal(t, dropped+100, w.ends[0].counters().Dropped)
	require.Equal(t, [3]int{1, 0, 0}, bytes(4), "there is no such class")
}

func TestSelector_usesAPoorLinkLast(t *testing.T) {
	t.Parallel()
	links := threeLinks()
	links[0].MaxLoss = 0.10
	links[0].MaxRTT = 50 * time.Millisecond
	bad := map[string]func(*wire){
		"loss":  func(wire *wire) { wire.loss = 0.25 },
		"delay": func(wire *wire) { wire.delay = 35 * time.Millisecond },
	}
	for name, worsen := range bad {
		w := newWorld(t, 24, settings.Bond{}, links)
		w.settle()
		w.both("wifi", worsen)
		w.run(3 * time.Second)
		require.Equal(t, "mesh", w.ends[0].active(), name)
		w.cut("mesh", true, 0, 1)
		w.cut("5g", true, 0, 1)
		w.run(200 * time.Millisecond)
		require.Equal(t, "wifi", w.ends[0].active(), name)
		w.cut("mesh", false, 0, 1)
		w.cut("5g", false, 0, 1)
		w.both("wifi", func(wire *wire) { wire.loss, wire.delay = 0, time.Millisecond })
		w.run(30 * time.Second)
		require.Equal(t, "wifi", w.ends[0].active(), name)
		require.LessOrEqual(t, w.ends[0].switches(), 10, name)
	}
}

func TestBond_Switch_holdsForItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 25, settings.Bond{}, threeLinks())
	w.settle()
	w.stream(0, 10_000, 100, time.Millisecond)
	e := w.ends[0]
	change := func(link string, hold time.Duration) (err error) {
		e.do(func() { err = e.bond.Switch(w.now, link, hold, &e.out) })
		return err
	}
	require.ErrorIs(t, change("wimax", time.Second), fault.ErrUnknownLink)
	require.ErrorIs(t, change("5g", 0), fault.ErrInvalid)
	require.NoError(t, change("5g", 2*time.Second))
	require.Equal(t, "5g", e.active())
	w.run(1900 * time.Millisecond)
	require.Equal(t, "5g", e.active())
	w.run(200 * time.Millisecond)
	require.Equal(t, "wifi", e.active())

	require.NoError(t, change("5g", time.Hour))
	w.cut("5g", true, 0, 1) // what is dead is not used, even by hand
	w.run(100 * time.Millisecond)
	require.Equal(t, "wifi", e.active())
	require.ErrorIs(t, change("5g", time.Hour), fault.ErrLinkDown)
	w.cut("5g", false, 0, 1)
	w.run(2 * time.Second)
	require.Equal(t, "5g", e.active())
	require.NoError(t, change("", 0))
	require.Equal(t, "wifi", e.active())
	w.run(10 * time.Second)
	require.Zero(t, w.ends[1].lost(10_000))
	require.Zero(t, w.ends[1].disorder())
}

func TestSelector_balance_keepsTheLinkOfAFlow(t *testing.T) {
	t.Parallel()
	links := threeLinks()
	links[2].Cost = 4
	w := newWorld(t, 26, settings.Bond{Policy: settings.BalanceFlow}, links)
	w.settle()
	const flows, frames = 60, 1000
	before := map[string]int{}
	for _, link := range links {
		before[link.Name] = w.wire(link.Name, 0).bytes
	}
	for flow := range flows {
		w.flow(0, frames, 500, 3*time.Millisecond, -1, uint32(flow*7919))
	}
	var bytes [3]int
	w.after(900*time.Millisecond, func() {
		for i, link := range links {
			bytes[i] = w.wire(link.Name, 0).bytes - before[link.Name]
		}
	})
	w.after(time.Second, func() { w.cut("wifi", true, 0, 1) })
	w.after(1500*time.Millisecond, func() { w.cut("wifi", false, 0, 1) })
	latest := map[uint32]uint64{}
	w.ends[1].answered = func(frame []byte) {
		number, flow := uint64(frame[7])|uint64(frame[6])<<8|uint64(frame[5])<<16,
			uint32(frame[11])|uint32(frame[10])<<8|uint32(frame[9])<<16
		require.Greater(t, number, latest[flow], "flow %d", flow)
		latest[flow] = number
	}
	w.run(6 * time.Second)
	require.Zero(t, w.ends[1].lost(flows*frames))
	t.Log(bytes)
	require.Less(t, bytes[2]*2, bytes[0])
	require.Less(t, bytes[2]*2, bytes[1])
	require.NotZero(t, bytes[2])
}

func TestSelector_adaptive_copiesWhileTheLinkIsSuspect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 27, settings.Bond{Policy: settings.Adaptive}, threeLinks())
	w.settle()
	w.stream(0, 5_000, 1000, time.Millisecond)
	w.run(time.Second)
	before := w.wire("mesh", 0).bytes
	w.run(time.Second)
	require.Less(t, w.wire("mesh", 0).bytes-before, 20_000, "no copies while all is well")
	w.cut("wifi", true, 0, 1)
	w.run(18 * time.Millisecond)
	w.cut("wifi", false, 0, 1) // it was never down
	w.run(5 * time.Second)
	require.Zero(t, w.ends[1].lost(5_000))
	require.Zero(t, w.ends[0].switches())
	require.Less(t, w.ends[1].gap(), 22*time.Millisecond)
}

func TestPeering_probesAMeteredBackupSeldom(t *testing.T) {
	t.Parallel()
	links := threeLinks()[1:]
	links[1].Metered = true
	w := newWorld(t, 31, settings.Bond{}, links)
	w.settle()
	w.both("5g", func(wire *wire) { wire.loss = 0.02 }) // a lost announcement must not look like a dead link
	const size = 110                                    // bytes of a probe, about
	probes := func(d time.Duration) int {
		before := w.wire("5g", 0).bytes
		w.run(d)
		return (w.wire("5g", 0).bytes - before) / size
	}
	for range 20 {
		require.InDelta(t, 10, probes(2*time.Second), 8)
		w.cut("mesh", true, 0, 1)
		w.run(50 * time.Millisecond)
		require.Equal(t, "5g", w.ends[0].active())
		require.Equal(t, "5g", w.ends[1].active())
		w.run(time.Second)
		require.Greater(t, probes(time.Second), 80)
		w.cut("mesh", false, 0, 1)
		w.run(40 * time.Second) // it has flapped
		require.Equal(t, "mesh", w.ends[0].active())
	}
	for _, e := range w.ends {
		for _, event := range e.events {
			require.False(t, event.Link == "5g" && event.State == status.Down, "%+v", event)
		}
	}
}
