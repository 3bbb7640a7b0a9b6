package bond_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/bond"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

const (
	peerTwice = "another instance uses the key of this peer; provision each as a client of its own"
	ownTwice  = "another instance uses the key of this one; provision each as a client of its own"
)

// twin starts another instance with the key of end 1.
func (w *world) twin() *end {
	w.latest = map[string]*end{}
	for _, link := range w.links {
		w.latest[link.Name] = w.ends[1]
	}
	twin := &end{world: w, index: 1}
	w.epochs++
	made, err := bond.New(settings.Bond{}, w.links, w.epochs, w.now)
	require.NoError(w.t, err)
	twin.bond = made
	twin.plan()
	return twin
}

// conflicts returns the reasons of an end's events of that type.
func (e *end) conflicts() (reasons []string) {
	for _, event := range e.events {
		if event.Type == "conflict" {
			reasons = append(reasons, event.Reason)
		}
	}
	return reasons
}

func TestBond_Receive_namesAnotherInstanceWithOneKey(t *testing.T) {
	w := newWorld(t, 1, settings.Bond{}, threeLinks())
	w.settle()
	server, first := w.ends[0], w.ends[1]
	second := w.twin()
	w.run(time.Minute)

	require.Equal(t, []string{peerTwice}, server.conflicts(), "once, as long as it lasts")
	require.Equal(t, []string{ownTwice}, first.conflicts())
	require.Equal(t, []string{ownTwice}, second.conflicts())
	require.Equal(t, peerTwice, server.bond.Status(w.now).Conflict)
	require.Equal(t, ownTwice, second.bond.Status(w.now).Conflict)
	displaced := first.bond.Status(w.now)
	require.Equal(t, ownTwice, displaced.Conflict)
	require.False(t, displaced.Connected, "the server takes nothing from it")
	for _, link := range displaced.Links {
		require.Equal(t, []any{status.Down, ownTwice}, []any{link.State, link.Reason})
	}

	// Once the second is gone, the first is of use again.
	second.stalled = w.now.Add(time.Hour)
	w.run(2 * time.Minute)
	for _, e := range []*end{server, first} {
		now := e.bond.Status(w.now)
		require.True(t, now.Connected)
		require.Empty(t, now.Conflict)
	}
	first.events, server.got = nil, nil
	w.stream(1, 100, 1000, time.Millisecond)
	w.stream(0, 100, 1000, time.Millisecond)
	w.run(time.Second)
	require.Len(t, server.got, 100)
	require.Len(t, first.got, 100)
}

func TestBond_Receive_takesARestartForNoConflict(t *testing.T) {
	w := newWorld(t, 1, settings.Bond{}, threeLinks())
	w.both("mesh", func(wire *wire) { wire.delay = 300 * time.Millisecond })
	w.settle()
	for range 5 {
		w.boot(1, settings.Bond{}) // packets of the life before are under way
		w.run(2 * time.Second)
	}
	for _, e := range w.ends {
		require.Empty(t, e.conflicts())
		require.Empty(t, e.bond.Status(w.now).Conflict)
		require.True(t, e.bond.Status(w.now).Connected)
	}
}
