package bond_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// link returns what an end reports of a link.
func (e *end) link(name string) status.Link {
	for _, l := range e.bond.Status(e.world.now).Links {
		if l.Name == name {
			return l
		}
	}
	e.world.t.Fatalf("no link %q", name)
	return status.Link{}
}

func TestBond_Status_figuresOfADeadLinkAgreeWithItsState(t *testing.T) {
	w := newWorld(t, 1, settings.Bond{}, threeLinks())
	w.settle()
	w.cut("wifi", true, 0, 1)
	w.cut("mesh", true, 0) // end 1 hears nothing
	w.run(time.Second)
	for _, e := range w.ends {
		wifi := e.link("wifi")
		require.Equal(t, status.Down, wifi.State)
		require.Equal(t, []float64{1, 1}, []float64{wifi.LossTx, wifi.LossRx})
		require.Zero(t, wifi.RTT, "of what is past")
		require.Zero(t, wifi.Jitter)
		require.Zero(t, e.link("5g").LossTx+e.link("5g").LossRx)
		require.Positive(t, e.link("5g").RTT)
	}
	require.Equal(t, []float64{1, 0}, []float64{w.ends[0].link("mesh").LossTx, w.ends[0].link("mesh").LossRx})
	require.Equal(t, []float64{0, 1}, []float64{w.ends[1].link("mesh").LossTx, w.ends[1].link("mesh").LossRx})

	w.cut("wifi", false, 0, 1)
	w.run(100 * time.Millisecond)
	wifi := w.ends[0].link("wifi")
	require.Equal(t, []any{status.Probing, "heard again, not used yet"}, []any{wifi.State, wifi.Reason})
	w.run(time.Second)
	require.Equal(t, status.Up, w.ends[0].link("wifi").State)

	w.ends[0].do(func() {
		w.ends[0].bond.Carrier(w.now, 0, false, "no carrier", &w.ends[0].out)
	})
	require.Equal(t, []float64{1, 1}, []float64{w.ends[0].link("wifi").LossTx, w.ends[0].link("wifi").LossRx})
}

// A link that is late may be late no longer by other limits, as when an alert ends.
func TestBond_Tick_callsNoSilentLinkGoodAgain(t *testing.T) {
	w := newWorld(t, 1, settings.Bond{}, threeLinks())
	w.settle()
	w.cut("5g", true, 1) // what end 0 hears
	w.run(25 * time.Millisecond)
	server := w.ends[0]
	require.Equal(t, status.Suspect, server.link("5g").State)
	links := threeLinks()
	links[2].Probe.Interval = 200 * time.Millisecond
	server.do(func() { require.NoError(t, server.bond.SetLinks(w.now, links, &server.out)) })
	w.run(3 * time.Second)
	require.Equal(t, status.Down, server.link("5g").State)
	for _, event := range server.events {
		require.False(t, event.Link == "5g" && event.State == status.Up, "%+v", event)
	}
}
